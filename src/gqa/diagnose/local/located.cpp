#include "gqa/diagnose/local/located.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

// A wrong element beside what it should be.
struct WrongElement {
  double expected = 0;
  double recorded = 0;
};

std::vector<WrongElement> wrong_elements(const LocalEvidence& evidence) {
  std::vector<WrongElement> elements;
  for (const RowPlace& place : evidence.witnesses) {
    const RowComparison row = compare_roughly(evidence.problem, evidence.problem.declared, place);
    for (std::size_t c = 0; c < row.distance.size(); ++c) {
      const bool is_wrong = std::abs(row.distance[c]) > row.allowed[c];
      if (!is_wrong || !std::isfinite(row.distance[c])) continue;
      elements.push_back({row.expected.output[c], row.expected.output[c] + row.distance[c]});
    }
  }
  return elements;
}

double median_of(std::vector<double> numbers) {
  const auto middle = numbers.begin() + std::ssize(numbers) / 2;
  std::ranges::nth_element(numbers, middle);
  return *middle;
}

// Nearly all numbers within a twentieth of `size` from their median.
std::optional<double> common_number(const std::vector<double>& numbers, double size) {
  constexpr double near = 0.05, nearly_all = 0.9;
  if (numbers.size() < 3) return std::nullopt;
  const double median = median_of(numbers);
  const auto count = std::ranges::count_if(
      numbers, [&](double x) { return std::abs(x - median) <= near * std::abs(size * median); });
  const bool is_common =
      static_cast<double>(count) >= nearly_all * static_cast<double>(numbers.size());
  return is_common ? std::optional(median) : std::nullopt;
}

std::string rounded_words(double factor) {
  if (std::abs(factor - 0.5) < 0.02) return "about half as large";
  if (std::abs(factor - 2) < 0.05) return "about twice as large";
  if (std::abs(factor + 1) < 0.05) return "of the other sign";
  if (std::abs(factor) < 0.02) return "about zero";
  return fmt::format("about {:.2g} times as large", factor);
}

// ", shifted by one constant (0.05)", ", about half as large"; empty if nothing is in common.
std::string common_error(const std::vector<WrongElement>& elements) {
  std::vector<double> differences, ratios;
  for (const WrongElement& element : elements) {
    differences.push_back(element.recorded - element.expected);
    if (element.expected != 0) ratios.push_back(element.recorded / element.expected);
  }
  if (const auto shift = common_number(differences, 1)) {
    return fmt::format(", shifted by one constant (about {:.2g})", *shift);
  }
  if (const auto factor = common_number(ratios, 1)) return ", " + rounded_words(*factor);
  return "";
}

}  // namespace

std::optional<Explanation> located(const LocalEvidence& evidence) {
  constexpr double scattered_below = 1.0 / 8;
  const Region& region = evidence.region;
  const bool is_scattered =
      evidence.wrong.elements() > 1 && filled_share(evidence.wrong, region) < scattered_below;
  if (!is_scattered && region.is_everywhere()) return std::nullopt;
  Explanation explanation;
  explanation.rows = std::ssize(evidence.wrong.places());
  explanation.tolerance = evidence.problem.tolerance;
  const std::string error = common_error(wrong_elements(evidence));
  if (is_scattered) {
    explanation.place_sentence =
        fmt::format("unexplained; scattered single elements ({} of them){}{}",
                    evidence.wrong.elements(), in_place(region), error);
    return explanation;
  }
  explanation.region = region;
  const std::int64_t rows = std::ssize(evidence.wrong.places());
  const std::string count = rows == 1 ? "one row" : fmt::format("{} rows", rows);
  explanation.place_sentence =
      fmt::format("unexplained; {} ({}){}", count, describe_place(region), error);
  return explanation;
}

}  // namespace gqa
