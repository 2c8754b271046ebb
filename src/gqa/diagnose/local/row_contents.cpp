#include "gqa/diagnose/local/row_contents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "gqa/diagnose/measure/content.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

double output_at(const LocalEvidence& evidence, const RowPlace& place, std::int64_t column) {
  return recorded(evidence.problem.declared, place, column);
}

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

std::vector<std::int64_t> columns_of(const LocalEvidence& evidence) {
  const IndexSet all{{{0, evidence.wrong.columns() - 1}}};
  return evidence.region.columns.value_or(all).indices(evidence.wrong.columns());
}

Explanation told(const LocalEvidence& evidence, const FaultKind& kind, std::string words,
                 std::string sentence) {
  Fault fault{&kind, 0, {}, std::move(words)};
  fault.sentence = std::move(sentence);
  Explanation explanation;
  explanation.faults = {std::move(fault)};
  explanation.rows = std::ssize(evidence.wrong.places());
  explanation.tolerance = evidence.problem.tolerance;
  explanation.region = evidence.region;
  return explanation;
}

// ", in every head" behind rows or columns; nothing where the place says so itself.
std::string everywhere_else(const LocalEvidence& evidence) {
  const Region& region = evidence.region;
  if (region.heads || evidence.wrong.heads() == 1 || (!region.rows && !region.columns)) return "";
  return ", in every head";
}

bool is_plural(const Region& region) {
  const auto& first = region.columns ? region.columns : region.rows ? region.rows : region.heads;
  const auto& set = first ? first : region.batch;
  return !set || set->pattern || set->ranges.size() > 1 ||
         set->ranges.front().first != set->ranges.front().last;
}

std::optional<Explanation> one_number(const LocalEvidence& evidence) {
  const std::vector<std::int64_t> columns = columns_of(evidence);
  ContentReader reader;
  for (const RowPlace& place : evidence.wrong.places()) {
    for (const std::int64_t c : columns) {
      if (!reader.add(output_at(evidence, place, c))) return std::nullopt;
    }
  }
  const auto content = reader.fault();
  if (!content) return std::nullopt;
  const std::string number = content->kind == &content_zero  ? "zero"
                             : content->kind == &content_nan ? "NaN"
                                                             : content->measurement;
  const std::string place = describe_place(evidence.region);
  if (place.empty()) return std::nullopt;
  return told(evidence, rows_not_written, number,
              fmt::format("{} {} {}{}", place, is_plural(evidence.region) ? "are" : "is", number,
                          everywhere_else(evidence)));
}

std::size_t hash_of(const LocalEvidence& evidence, const RowPlace& place) {
  std::size_t hash = 1469598103934665603ULL;
  for (std::int64_t c = 0; c < evidence.wrong.columns(); ++c) {
    const auto bits = std::bit_cast<std::uint64_t>(output_at(evidence, place, c));
    hash = (hash ^ static_cast<std::size_t>(bits)) * 1099511628211ULL;
    hash ^= hash >> 29;
  }
  return hash;
}

bool is_same_row(const LocalEvidence& evidence, const RowPlace& a, const RowPlace& b) {
  for (std::int64_t c = 0; c < evidence.wrong.columns(); ++c) {
    if (!same(output_at(evidence, a, c), output_at(evidence, b, c))) return false;
  }
  return true;
}

// Every wrong row, moved by that much, is a place that holds the same.
bool all_copied(const LocalEvidence& evidence, const RowPlace& by) {
  return std::ranges::all_of(evidence.wrong.places(), [&](const RowPlace& place) {
    const RowPlace from{place.batch + by.batch, place.head + by.head, place.row + by.row};
    const bool exists = from.batch >= 0 && from.batch < evidence.wrong.batch() && from.head >= 0 &&
                        from.head < evidence.wrong.heads() && from.row >= 0 &&
                        from.row < evidence.wrong.rows();
    return exists && is_same_row(evidence, place, from);
  });
}

Region moved(const Region& region, const RowPlace& by) {
  const auto shift = [](std::optional<IndexSet> set, std::int64_t distance) {
    if (!set || distance == 0) return std::optional<IndexSet>{};
    for (IndexRange& range : set->ranges) {
      range.first += distance;
      range.last += distance;
    }
    return set;
  };
  Region source;
  source.batch = shift(region.batch, by.batch);
  source.heads = shift(region.heads, by.head);
  source.rows = shift(region.rows, by.row);
  return source;
}

std::optional<Explanation> copied_rows(const LocalEvidence& evidence) {
  if (evidence.region.columns || evidence.wrong.columns() < 2) return std::nullopt;
  const RowPlace first = evidence.wrong.places().front();
  const std::size_t wanted = hash_of(evidence, first);
  constexpr std::size_t most_sources = 8;
  std::vector<RowPlace> sources;
  for (std::int64_t b = 0; b < evidence.wrong.batch(); ++b) {
    for (std::int64_t h = 0; h < evidence.wrong.heads(); ++h) {
      for (std::int64_t i = 0; i < evidence.wrong.rows() && sources.size() < most_sources; ++i) {
        const RowPlace place{b, h, i};
        if (place == first || !same(output_at(evidence, place, 0), output_at(evidence, first, 0))) {
          continue;
        }
        if (hash_of(evidence, place) == wanted && is_same_row(evidence, place, first)) {
          sources.push_back(place);
        }
      }
    }
  }
  for (const RowPlace& source : sources) {
    const RowPlace by{source.batch - first.batch, source.head - first.head, source.row - first.row};
    const Region from = moved(evidence.region, by);
    if (from.is_everywhere() || !all_copied(evidence, by)) continue;
    const std::string words =
        fmt::format("{} {} {}", describe_place(evidence.region),
                    is_plural(evidence.region) ? "hold" : "holds", describe_place(from));
    return told(evidence, rows_copied, describe_place(from), words);
  }
  return std::nullopt;
}

std::optional<Explanation> copied_columns(const LocalEvidence& evidence) {
  const auto& columns = evidence.region.columns;
  if (!columns || columns->pattern || columns->ranges.size() != 1) return std::nullopt;
  const IndexRange to = columns->ranges.front();
  const std::int64_t width = evidence.wrong.columns();
  for (std::int64_t from = 0; from + (to.last - to.first) < width; ++from) {
    if (from == to.first) continue;
    const std::int64_t by = from - to.first;
    const bool copied = std::ranges::all_of(evidence.wrong.places(), [&](const RowPlace& place) {
      for (std::int64_t c = to.first; c <= to.last; ++c) {
        if (!same(output_at(evidence, place, c), output_at(evidence, place, c + by))) return false;
      }
      return true;
    });
    if (!copied) continue;
    Region region;
    region.columns = IndexSet{{{from, to.last + by}}};
    const std::string source = describe_place(region);
    return told(evidence, columns_copied, source,
                fmt::format("{} {} {}", describe_place(evidence.region),
                            to.first == to.last ? "holds" : "hold", source));
  }
  return std::nullopt;
}

}  // namespace

std::optional<Explanation> content_of_rows(const LocalEvidence& evidence) {
  if (auto found = one_number(evidence)) return found;
  if (auto found = copied_rows(evidence)) return found;
  return copied_columns(evidence);
}

}  // namespace gqa
