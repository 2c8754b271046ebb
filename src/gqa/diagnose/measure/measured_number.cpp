#include "gqa/diagnose/measure/measured_number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <numeric>

#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

// Known to three hundredths, a number is still told from the next power of two or small quotient;
// for the closer candidates it takes more digits.
constexpr double simple_precision = 0.03;
constexpr double special_precision = 0.002;

// "sqrt(64)" is 8: a root is written where it is none.
bool is_square(std::int64_t n) {
  const auto root = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(n))));
  return root * root == n;
}

std::vector<NamedNumber> quotients() {
  std::vector<NamedNumber> all;
  for (int exponent = 0; exponent <= 20; ++exponent) {
    const auto power = std::int64_t{1} << exponent;
    all.push_back({static_cast<double>(power), fmt::format("{}", power)});
    if (exponent > 0) all.push_back({1 / static_cast<double>(power), fmt::format("1/{}", power)});
  }
  constexpr std::int64_t largest = 8;
  for (std::int64_t sum = 2; sum <= 2 * largest; ++sum) {
    for (std::int64_t q = 1; q < sum && q <= largest; ++q) {
      const std::int64_t p = sum - q;
      if (p > largest || std::gcd(p, q) != 1) continue;
      all.push_back({static_cast<double>(p) / static_cast<double>(q),
                     q == 1 ? fmt::format("{}", p) : fmt::format("{}/{}", p, q)});
    }
  }
  return all;
}

std::vector<NamedNumber> special_numbers(std::span<const std::int64_t> sizes) {
  std::vector<NamedNumber> all{{std::numbers::log2e, "log2 e"}, {std::numbers::ln2, "ln 2"}};
  for (const std::int64_t n : sizes) {
    if (n < 2) continue;
    const auto size = static_cast<double>(n);
    all.push_back({size, fmt::format("{}", n)});
    all.push_back({1 / size, fmt::format("1/{}", n)});
    if (is_square(n)) continue;
    all.push_back({std::sqrt(size), fmt::format("sqrt({})", n)});
    all.push_back({1 / std::sqrt(size), fmt::format("1/sqrt({})", n)});
  }
  return all;
}

void add_fitting(const MeasuredNumber& magnitude, const std::vector<NamedNumber>& candidates,
                 std::vector<NamedNumber>& fitting) {
  for (const NamedNumber& candidate : candidates) {
    const bool known = std::ranges::any_of(
        fitting, [&](const NamedNumber& other) { return other.value == candidate.value; });
    if (!known && magnitude.allows(candidate.value)) fitting.push_back(candidate);
  }
}

}  // namespace

bool MeasuredNumber::allows(double number) const {
  return std::abs(number - value) <= uncertainty;
}

std::string known_digits(const MeasuredNumber& number) {
  constexpr int most = 17;
  constexpr double largest_whole = 1e9;
  for (int digits = 1; digits < most; ++digits) {
    const std::string text = fmt::format("{:.{}g}", number.value, digits);
    const double shorter = std::strtod(text.c_str(), nullptr);
    if (!number.allows(shorter)) continue;
    // 1000, not 1e+03.
    const bool is_whole = std::abs(shorter) >= 1 && std::abs(shorter) < largest_whole;
    return is_whole && text.find('e') != std::string::npos ? fmt::format("{:.0f}", shorter) : text;
  }
  return fmt::format("{:.{}g}", number.value, most);
}

std::vector<NamedNumber> recognised(const MeasuredNumber& number,
                                    std::span<const std::int64_t> sizes) {
  const MeasuredNumber magnitude{std::abs(number.value), number.uncertainty};
  const double precision = magnitude.uncertainty / magnitude.value;
  std::vector<NamedNumber> fitting;
  if (precision <= simple_precision) add_fitting(magnitude, quotients(), fitting);
  if (precision <= special_precision) add_fitting(magnitude, special_numbers(sizes), fitting);
  if (number.value < 0) {
    for (NamedNumber& entry : fitting) {
      entry.value = -entry.value;
      entry.text = "-" + entry.text;
    }
  }
  return fitting;
}

std::string describe(const MeasuredNumber& number, std::span<const std::int64_t> sizes) {
  const auto names = recognised(number, sizes);
  return names.empty() ? known_digits(number) : names.front().text;
}

std::string measured_as(const MeasuredNumber& number) {
  // Rounded up: 0.0151 is known to 0.02.
  const double step = std::pow(10, std::floor(std::log10(number.uncertainty)));
  const double known = number.uncertainty > 0 ? std::ceil(number.uncertainty / step) * step : 0;
  return fmt::format("measured {}, known to {:.1g}", known_digits(number), known);
}

void FactorFit::add(double reference, double recorded) {
  pairs_.emplace_back(reference, recorded);
}

std::optional<MeasuredNumber> FactorFit::factor(double roundoff) const {
  double products = 0, squares = 0;
  for (const auto& [reference, recorded] : pairs_) {
    products += reference * recorded;
    squares += square(reference);
  }
  if (!(squares > 0) || !std::isfinite(products / squares)) return std::nullopt;
  const double value = products / squares;
  std::vector<std::vector<double>> residuals(1);
  for (std::size_t n = 0, row = 0; n < pairs_.size(); ++n) {
    if (row < row_ends_.size() && n == row_ends_[row]) {
      residuals.emplace_back();
      ++row;
    }
    const auto& [reference, recorded] = pairs_[n];
    residuals.back().push_back(reference * (recorded - value * reference));
  }
  const double error = four_standard_errors(residuals, squares);
  return MeasuredNumber{value, std::max(error, roundoff * std::abs(value))};
}

void FactorFit::end_row() {
  row_ends_.push_back(pairs_.size());
}

double four_standard_errors(const std::vector<std::vector<double>>& products, double squares) {
  double of_elements = 0, of_rows = 0;
  for (const std::vector<double>& row : products) {
    double sum = 0;
    for (const double product : row) {
      sum += product;
      of_elements += square(product);
    }
    of_rows += square(sum);
  }
  const auto rows = static_cast<double>(products.size());
  // One row says nothing of how rows differ; of few, less than it seems.
  if (rows > 1) of_rows *= rows / (rows - 1);
  return 4 * std::sqrt(std::max(of_elements, of_rows)) / squares;
}

}  // namespace gqa
