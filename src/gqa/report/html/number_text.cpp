#include "gqa/report/html/number_text.hpp"

#include <fmt/format.h>

#include <cmath>

#include "gqa/report/integer_json.hpp"

namespace gqa::html {
namespace {

std::string superscript(int value) {
  static constexpr const char* digits[] = {"\u2070", "\u00B9", "\u00B2", "\u00B3", "\u2074",
                                           "\u2075", "\u2076", "\u2077", "\u2078", "\u2079"};
  std::string text = value < 0 ? "\u207B" : "";
  for (const char digit : std::to_string(std::abs(value))) text += digits[digit - '0'];
  return text;
}

std::string with_figures(double value, int figures) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "infinite" : "-infinite";
  std::string text = fmt::format("{:.{}g}", value, figures);
  const std::size_t e = text.find('e');
  if (e == std::string::npos) return text;
  return text.substr(0, e) + "\u00D710" + superscript(std::stoi(text.substr(e + 1)));
}

}  // namespace

std::string figure(double value) {
  return with_figures(value, 3);
}

std::string precise(double value) {
  return with_figures(value, 9);
}

std::string power_of_two(int exponent) {
  if (exponent >= 0 && exponent <= 10) return std::to_string(1 << exponent);
  if (exponent < 0 && exponent >= -3) return fmt::format("1/{}", 1 << -exponent);
  return "2" + superscript(exponent);
}

std::string grouped(std::int64_t value) {
  return grouped_digits(mpz_class(static_cast<long>(value)));
}

std::string counted(std::int64_t count, std::string_view noun) {
  if (count == 1) return fmt::format("1 {}", noun);
  if (noun.ends_with("ry")) {
    return fmt::format("{} {}ies", grouped(count), noun.substr(0, noun.size() - 1));
  }
  return fmt::format("{} {}s", grouped(count), noun);
}

}  // namespace gqa::html
