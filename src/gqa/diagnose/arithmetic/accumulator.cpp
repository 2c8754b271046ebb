#include "gqa/diagnose/arithmetic/accumulator.hpp"

#include <fmt/format.h>

#include <cmath>

namespace gqa {
namespace {

AccumulatorRounding rounding_of(const std::vector<double>& sums) {
  std::array<double, 5> units{};
  for (std::size_t n = 0; n < units.size(); ++n) {
    units[n] = std::nearbyint(sums[n] / 8);
    // The sums are whole units; a figure between them means something else.
    if (!(std::fabs(sums[n] / 8 - units[n]) < 0.2)) return AccumulatorRounding::unknown;
  }
  const auto are = [&](double above, double below, double negative) {
    return units[0] == above && units[1] == below && units[2] == negative;
  };
  if (are(1, 0, -1)) {
    if (units[3] == 0 && units[4] == 2) return AccumulatorRounding::nearest_even;
    if (units[3] == 1 && units[4] == 2) return AccumulatorRounding::nearest_away;
  }
  if (are(0, 0, 0)) return AccumulatorRounding::toward_zero;
  if (are(1, 1, 0)) return AccumulatorRounding::upward;
  if (are(0, 0, -1)) return AccumulatorRounding::downward;
  return AccumulatorRounding::unknown;
}

}  // namespace

std::string_view name(AccumulatorRounding rounding) {
  switch (rounding) {
    case AccumulatorRounding::nearest_even:
      return "to nearest, ties to even";
    case AccumulatorRounding::nearest_away:
      return "to nearest, ties away";
    case AccumulatorRounding::toward_zero:
      return "toward zero";
    case AccumulatorRounding::upward:
      return "upward";
    case AccumulatorRounding::downward:
      return "downward";
    case AccumulatorRounding::unknown:
      break;
  }
  return "?";
}

std::string Accumulator::format_text() const {
  if (precision == 24) return "24 bits (binary32)";
  if (precision == 11) return "11 bits (binary16)";
  if (precision == 8) return "8 bits (bfloat16)";
  return fmt::format("{}{} bits", precision > 27 ? "at least " : "", precision);
}

std::optional<Accumulator> read_accumulator(const FourTermSums& sums) {
  constexpr int first = 4, last = 27;
  std::vector<FourTerms> rows;
  for (int k = first; k <= last; ++k) {
    rows.push_back({std::ldexp(1, k + 2), 4, 0, -std::ldexp(1, k + 2)});
  }
  std::optional<std::vector<double>> got = sums(rows);
  if (!got) return std::nullopt;
  Accumulator result;
  for (int k = first; k <= last; ++k) {
    if (std::fabs((*got)[static_cast<std::size_t>(k - first)] - 4) < 1) result.precision = k + 1;
  }
  // More bits than were asked for, or fewer.
  if (result.precision == 0 || result.precision > last) return result;
  const double big = std::ldexp(1, result.precision + 2);
  got = sums({{big, 6, 0, -big},
              {big, 2, 0, -big},
              {-big, -6, 0, big},
              {big, 4, 0, -big},
              {big, 8, 4, -big}});
  if (got) result.rounding = rounding_of(*got);
  return result;
}

}  // namespace gqa
