#include "taken_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "gqa/near_words.hpp"

namespace gqa::program {
namespace {

// In braces, as description.cpp reads them.
std::string choices(const std::vector<std::string>& names) {
  return fmt::format("{{{}}}", fmt::join(names, ","));
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

CLI::Validator one_of(const std::vector<std::string>& names,
                      const std::vector<std::pair<std::string, std::string>>& others) {
  return CLI::Validator(
      [names, others](std::string& text) -> std::string {
        const std::string word = plain_spelling(text);
        for (const std::string& name : names) {
          if (plain_spelling(name) != word) continue;
          text = name;
          return "";
        }
        for (const auto& [other, name] : others) {
          if (plain_spelling(other) != word) continue;
          text = name;
          return "";
        }
        const std::vector<std::string_view> known(names.begin(), names.end());
        return unknown_word(text, known);
      },
      choices(names));
}

CLI::Validator offers(const std::vector<std::string>& names) {
  return CLI::Validator([](std::string&) { return std::string(); }, choices(names));
}

CLI::Validator number_between(double least, double most) {
  return CLI::Validator(
      [least, most](const std::string& text) -> std::string {
        const std::optional<double> value = number_of<double>(text);
        if (value && *value >= least && *value <= most) return "";
        return fmt::format("\"{}\" is not a number from {} to {}", text, least, most);
      },
      "");
}

CLI::Validator integer_between(std::uint64_t least, std::uint64_t most) {
  return CLI::Validator(
      [least, most](const std::string& text) -> std::string {
        const bool leads_with_zero = text.size() > 1 && text.front() == '0';
        const std::optional<std::uint64_t> value = number_of<std::uint64_t>(text);
        if (value && !leads_with_zero && *value >= least && *value <= most) return "";
        return fmt::format("\"{}\" is not an integer from {} to {}, in decimal digits alone", text,
                           least, most);
      },
      "");
}

}  // namespace gqa::program
