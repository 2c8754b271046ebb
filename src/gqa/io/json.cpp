#include "gqa/io/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "gqa/error.hpp"

namespace gqa {
namespace {

using Json = nlohmann::json;

// Builds the document and stops at the first breach. The library's own builder with a callback
// looks through an object again after every value inside it, which is quadratic in their number.
class StrictBuilder : public nlohmann::json_sax<Json> {
 public:
  explicit StrictBuilder(const std::string& where) : where_(where) {}

  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& value) override { return add(std::move(value)); }
  bool start_object(std::size_t /*size*/) override { return open(Json::object()); }
  bool start_array(std::size_t /*size*/) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& value) override {
    Level& level = levels_.back();
    const auto [at, is_new] = level.value->get_ref<Json::object_t&>().try_emplace(std::move(value));
    level.key = &at->first;
    if (!is_new) throw InputError("json.duplicate_key", place(), "the key is given twice");
    level.slot = &at->second;
    return true;
  }

  bool parse_error(std::size_t bytes, const std::string& /*token*/,
                   const Json::exception& error) override {
    constexpr int out_of_range = 406;
    if (error.id == out_of_range) throw InputError("json.syntax", where_, reason_of(error));
    // The library counts from one, and counts the byte it stumbled over.
    throw InputError("json.syntax", where_,
                     fmt::format("at byte {}: {}", bytes == 0 ? 0 : bytes - 1, reason_of(error)));
  }

 private:
  struct Level {
    Json* value = nullptr;
    const std::string* key = nullptr;  ///< of an object: the last one
    Json* slot = nullptr;              ///< of an object: where the value of that key goes
  };

  // The library's text behind its "[json.exception.parse_error.101] " tag.
  static std::string reason_of(const Json::exception& error) {
    const std::string_view text = error.what();
    const std::size_t tag_end = text.find("] ");
    return printable(tag_end == std::string_view::npos ? text : text.substr(tag_end + 2));
  }

  Json* put(Json value) {
    if (levels_.empty()) return &(root_ = std::move(value));
    const Level& level = levels_.back();
    if (level.value->is_array()) return &level.value->emplace_back(std::move(value));
    return &(*level.slot = std::move(value));
  }
  bool add(Json value) {
    put(std::move(value));
    return true;
  }
  bool open(Json empty) {
    const bool too_deep = levels_.size() == static_cast<std::size_t>(max_json_depth);
    Json* value = put(std::move(empty));
    if (too_deep) {
      throw InputError("json.too_deep", place(),
                       fmt::format("nests deeper than {} levels", max_json_depth));
    }
    levels_.push_back({value});
    return true;
  }
  bool close() {
    levels_.pop_back();
    return true;
  }

  std::string place() const {
    std::string path;
    for (const Level& level : levels_) {
      if (level.value->is_array()) {
        path += fmt::format("[{}]", static_cast<std::int64_t>(level.value->size()) - 1);
      } else if (level.key != nullptr) {
        path += (path.empty() ? "" : ".") + printable(*level.key);
      }
    }
    return fmt::format("{}: {}", where_, path);
  }

  const std::string& where_;
  Json root_;
  std::vector<Level> levels_;
};

}  // namespace

Json parse_json_strictly(std::string_view text, const std::string& where) {
  // The library takes a NUL for the end of the text and would ignore the rest.
  const std::size_t nul = text.find('\0');
  if (nul != std::string_view::npos) {
    throw InputError("json.syntax", where, fmt::format("at byte {}: a NUL is not JSON", nul));
  }
  StrictBuilder builder(where);
  Json::sax_parse(text, &builder);
  return builder.take();
}

namespace {

// The exponents of a text, whatever else it may be, none counted beyond what a number may have.
std::int64_t exponent_sum(std::string_view text) {
  constexpr std::int64_t most = 100'000;
  std::int64_t sum = 0;
  for (std::size_t at = text.find_first_of("eEpP"); at != text.npos;
       at = text.find_first_of("eEpP", at + 1)) {
    std::size_t digit = at + 1;
    if (digit < text.size() && (text[digit] == '+' || text[digit] == '-')) ++digit;
    std::int64_t exponent = 0;
    for (; digit < text.size() && text[digit] >= '0' && text[digit] <= '9'; ++digit) {
      exponent = std::min(most, exponent * 10 + (text[digit] - '0'));
    }
    sum += exponent;
  }
  return sum;
}

std::int64_t exponent_sum(const Json& value) {
  if (value.is_string()) return exponent_sum(std::string_view(value.get_ref<const std::string&>()));
  std::int64_t sum = 0;
  if (value.is_structured()) {
    for (const Json& part : value) sum += exponent_sum(part);
  }
  return sum;
}

}  // namespace

void require_moderate_exponents(const Json& document, const std::string& where) {
  const std::int64_t sum = exponent_sum(document);
  if (sum <= max_exponent_sum) return;
  throw InputError("json.numbers_too_large", where,
                   fmt::format("the exponents of its numbers are {} together, more than {}", sum,
                               max_exponent_sum));
}

std::string printable(std::string_view text) {
  constexpr std::size_t limit = 160;
  const std::string quoted =
      Json(text.substr(0, limit)).dump(-1, ' ', true, Json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2) + (text.size() > limit ? "..." : "");
}

}  // namespace gqa
