#include "gqa/io/natural_order.hpp"

#include <algorithm>
#include <compare>

namespace gqa {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Takes the first byte, or the first run of digits without its leading zeros.
std::string_view take_part(std::string_view& text) {
  std::size_t end = 1;
  if (is_digit(text.front())) {
    while (end < text.size() && is_digit(text[end])) ++end;
  }
  std::string_view part = text.substr(0, end);
  text.remove_prefix(end);
  while (part.size() > 1 && part.front() == '0') part.remove_prefix(1);
  return part;
}

std::strong_ordering compare_parts(std::string_view a, std::string_view b) {
  const bool numbers = is_digit(a.front()) && is_digit(b.front());
  // Without leading zeros the longer number is the larger one.
  if (numbers && a.size() != b.size()) return a.size() <=> b.size();
  return a <=> b;
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  std::string_view rest_a = a;
  std::string_view rest_b = b;
  while (!rest_a.empty() && !rest_b.empty()) {
    const auto order = compare_parts(take_part(rest_a), take_part(rest_b));
    if (order != std::strong_ordering::equal) return order == std::strong_ordering::less;
  }
  if (rest_a.empty() != rest_b.empty()) return rest_a.empty();
  return a < b;
}

bool natural_path_less(const std::filesystem::path& a, const std::filesystem::path& b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                      [](const auto& left, const auto& right) {
                                        return natural_less(left.native(), right.native());
                                      });
}

}  // namespace gqa
