#include "gqa/report/integer_json.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace gqa {

nlohmann::ordered_json integer_json(const mpz_class& value) {
  if (value.fits_slong_p()) return value.get_si();
  return value.get_str();
}

std::string grouped_digits(const mpz_class& value) {
  const std::string digits = mpz_class(abs(value)).get_str();
  std::string text = value < 0 ? "-" : "";
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string bytes_text(const mpz_class& bytes) {
  constexpr std::array<std::pair<unsigned, const char*>, 4> units{
      {{40, "TiB"}, {30, "GiB"}, {20, "MiB"}, {10, "KiB"}}};
  std::string text = grouped_digits(bytes) + (bytes == 1 ? " byte" : " bytes");
  for (const auto& [bits, unit] : units) {
    const mpz_class size = mpz_class(1) << bits;
    if (bytes < size) continue;
    mpz_class thousandths = (bytes * 1000 + size / 2) / size;
    const bool exact = thousandths * size == bytes * 1000;
    std::string number = mpz_class(thousandths / 1000).get_str();
    const mpz_class rest = thousandths % 1000;
    if (rest != 0) {
      number += fmt::format(".{:03}", rest.get_ui());
      number.erase(number.find_last_not_of('0') + 1);
    }
    return text + fmt::format(" ({}{} {})", exact ? "" : "about ", number, unit);
  }
  return text;
}

}  // namespace gqa
