#include "gqa/audit/work/tally_record.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <span>

#include "gqa/error.hpp"

namespace gqa {
namespace {

using nlohmann::json;

// One list of fields for both directions, so that they cannot drift apart.
template <class Tally>
auto integer_fields(Tally& t) {
  return std::array{&t.elements,
                    &t.decided_by_filter,
                    &t.decided_by_enclosure,
                    &t.decided_exactly,
                    &t.violations,
                    &t.proved_violations,
                    &t.undecided,
                    &t.not_finite_references,
                    &t.self_checked,
                    &t.measured,
                    &t.ulp_sum_high,
                    &t.ulp_sum_low,
                    &t.nulls.rows,
                    &t.nulls.refuted[0],
                    &t.nulls.refuted[1],
                    &t.nulls.refuted[2],
                    &t.nulls.refuted[3]};
}

template <class Tally>
auto maximum_fields(Tally& t) {
  return std::array{&t.max_absolute_error.lower, &t.max_absolute_error.upper,
                    &t.max_ulp_error.lower, &t.max_ulp_error.upper, &t.max_share};
}

template <class Element>
auto number_fields(Element& e) {
  return std::array{&e.output,
                    &e.reference.lower,
                    &e.reference.upper,
                    &e.absolute_error.lower,
                    &e.absolute_error.upper,
                    &e.ulp_error.lower,
                    &e.ulp_error.upper,
                    &e.allowed.lower,
                    &e.allowed.upper};
}

std::string bits_text(double value) {
  return fmt::format("{:016x}", std::bit_cast<std::uint64_t>(value));
}

[[noreturn]] void refuse(const char* field, const std::string& message) {
  throw InputError("tally.record", field, message);
}

std::uint64_t bits_of(const json& value, const char* field) {
  const auto* text = value.get_ptr<const json::string_t*>();
  std::uint64_t bits = 0;
  if (text == nullptr || text->size() != 16) refuse(field, "is not 16 hexadecimal digits");
  const char* end = text->data() + text->size();
  const auto [stopped, error] = std::from_chars(text->data(), end, bits, 16);
  if (error != std::errc() || stopped != end) refuse(field, "is not 16 hexadecimal digits");
  return bits;
}

double from_bits(const json& value, const char* field) {
  return std::bit_cast<double>(bits_of(value, field));
}

std::int64_t from_integer(const json& value, const char* field) {
  // What does not fit is stored as unsigned or as a float.
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() && value.get<std::uint64_t>() >> 63 != 0)) {
    refuse(field, "is not a 64-bit integer");
  }
  return value.get<std::int64_t>();
}

const json& array_at(const json& record, const char* field) {
  const auto found = record.find(field);
  if (found == record.end() || !found->is_array()) refuse(field, "is not an array");
  return *found;
}

const json& array_of(const json& value, std::size_t size, const char* field) {
  if (!value.is_array() || value.size() != size) {
    refuse(field, fmt::format("is not an array of {}", size));
  }
  return value;
}

json sparse(std::span<const std::int64_t> counts) {
  json pairs = json::array();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != 0) pairs.push_back({i, counts[i]});
  }
  return pairs;
}

void read_sparse(const json& record, const char* field, std::span<std::int64_t> counts) {
  for (const json& pair : array_at(record, field)) {
    array_of(pair, 2, field);
    const std::int64_t index = from_integer(pair[0], field);
    if (index < 0 || index >= static_cast<std::int64_t>(counts.size())) {
      refuse(field, fmt::format("index {} is outside 0..{}", index,
                                static_cast<std::int64_t>(counts.size()) - 1));
    }
    counts[static_cast<std::size_t>(index)] = from_integer(pair[1], field);
  }
}

json rows_record(const ViolatingRows& rows) {
  json words = json::array();
  for (const auto& [word, bits] : rows.words()) {
    words.push_back({word, fmt::format("{:016x}", bits)});
  }
  return words;
}

// Words of `places` rows in all.
void read_rows(const json& record, std::int64_t places, ViolatingRows& rows) {
  constexpr const char* field = "violating_rows";
  for (const json& pair : array_at(record, field)) {
    array_of(pair, 2, field);
    const std::int64_t word = from_integer(pair[0], field);
    const std::uint64_t bits = bits_of(pair[1], field);
    const bool is_word = word >= 0 && word <= places / ViolatingRows::places_per_word && bits != 0;
    const auto width = static_cast<std::int64_t>(std::bit_width(bits));
    if (!is_word || word * ViolatingRows::places_per_word + width > places) {
      refuse(field, "names a row that does not exist");
    }
    rows.add_word(word, bits);
  }
}

// One object, of sparse lists.
json map_record(const ErrorMap& map) {
  json largest = json::array();
  for (std::size_t i = 0; i < map.largest.size(); ++i) {
    if (map.largest[i] >= 0) largest.push_back({i, bits_text(map.largest[i])});
  }
  return {{"map_largest", std::move(largest)},
          {"map_violations", sparse(map.violations)},
          {"map_histogram", sparse(map.histogram)}};
}

void read_map(const json& record, ErrorMap& map) {
  constexpr const char* field = "map_largest";
  for (const json& pair : array_at(record, field)) {
    array_of(pair, 2, field);
    const std::int64_t index = from_integer(pair[0], field);
    if (index < 0 || index >= static_cast<std::int64_t>(map.largest.size())) {
      refuse(field, fmt::format("cell {} does not exist", index));
    }
    const double error = from_bits(pair[1], field);
    if (!(error >= 0)) refuse(field, "holds something that is no error");
    map.largest[static_cast<std::size_t>(index)] = error;
  }
  read_sparse(record, "map_violations", map.violations);
  read_sparse(record, "map_histogram", map.histogram);
}

int sign_of(Uncertain answer) {
  if (!answer.is_decided()) return 0;
  return answer.certainly() ? 1 : -1;
}

json worst_record(const WorstElement& element) {
  json record = element.index;
  for (const double* number : number_fields(element)) record.push_back(bits_text(*number));
  record.push_back(sign_of(element.within));
  return record;
}

WorstElement read_worst(const json& record) {
  constexpr const char* field = "worst";
  WorstElement element;
  const auto numbers = number_fields(element);
  const std::size_t axes = element.index.size();
  array_of(record, axes + numbers.size() + 1, field);
  for (std::size_t i = 0; i < axes; ++i) element.index[i] = from_integer(record[i], field);
  for (std::size_t i = 0; i < numbers.size(); ++i) *numbers[i] = from_bits(record[axes + i], field);
  const std::int64_t within = from_integer(record[axes + numbers.size()], field);
  if (within < -1 || within > 1) refuse(field, "ends with something other than -1, 0 or 1");
  element.within = within == 0 ? Uncertain::unknown() : Uncertain::from(within > 0);
  return element;
}

}  // namespace

json tally_record(const AuditTally& tally) {
  json record = {{"counts", json::array()}, {"maxima", json::array()}, {"worst", json::array()}};
  for (const std::int64_t* count : integer_fields(tally)) record["counts"].push_back(*count);
  for (const double* maximum : maximum_fields(tally)) {
    record["maxima"].push_back(bits_text(*maximum));
  }
  for (const WorstElement& element : tally.worst) record["worst"].push_back(worst_record(element));
  record["heads"] = sparse(tally.head_violations);
  record["rows"] = sparse(tally.row_violations);
  record["columns"] = sparse(tally.column_violations);
  record["violating_rows"] = rows_record(tally.violating_rows);
  if (tally.error_map.is_kept()) record.update(map_record(tally.error_map));
  return record;
}

AuditTally read_tally(const json& record, const AuditTally& empty) {
  AuditTally tally = empty;
  const auto integers = integer_fields(tally);
  const json& counts = array_of(array_at(record, "counts"), integers.size(), "counts");
  for (std::size_t i = 0; i < integers.size(); ++i) {
    *integers[i] = from_integer(counts[i], "counts");
  }
  const auto maxima = maximum_fields(tally);
  const json& bits = array_of(array_at(record, "maxima"), maxima.size(), "maxima");
  for (std::size_t i = 0; i < maxima.size(); ++i) *maxima[i] = from_bits(bits[i], "maxima");
  for (const json& element : array_at(record, "worst")) tally.worst.push_back(read_worst(element));
  if (tally.worst.size() > AuditTally::worst_kept) refuse("worst", "holds too many elements");
  read_sparse(record, "heads", tally.head_violations);
  read_sparse(record, "rows", tally.row_violations);
  read_sparse(record, "columns", tally.column_violations);
  read_rows(record, std::ssize(tally.head_violations) * std::ssize(tally.row_violations),
            tally.violating_rows);
  if (tally.error_map.is_kept()) read_map(record, tally.error_map);
  return tally;
}

}  // namespace gqa
