// The kinds of operands that a bound is calibrated with.
#pragma once

#include <vector>

#include "audit/rounded_kernels.hpp"
#include "support/random.hpp"

namespace gqa_bench {

enum class Inputs { normal, uniform, large_scores, equal_values };
inline constexpr Inputs all_inputs[] = {Inputs::normal, Inputs::uniform, Inputs::large_scores,
                                        Inputs::equal_values};

inline const char* name(Inputs inputs) {
  switch (inputs) {
    case Inputs::normal:
      return "normal";
    case Inputs::uniform:
      return "uniform";
    case Inputs::large_scores:
      return "queries x 4";
    case Inputs::equal_values:
      return "equal values";
  }
  return "?";
}

/// `count` numbers, each rounded to `format`: standard normal or uniform in [0, 1), times
/// `factor`.
inline std::vector<double> draw_numbers(Inputs inputs, std::int64_t count, double factor,
                                        const gqa::FloatFormat& format, gqa::test::Random& random) {
  std::vector<double> numbers(static_cast<std::size_t>(count));
  for (double& x : numbers) {
    const double drawn = inputs == Inputs::uniform ? random.unit() : random.normal();
    x = gqa::test::rounded(format, factor * drawn);
  }
  return numbers;
}

struct DrawnOperands {
  std::vector<double> query, key, value;
};

/// Operands of one head; `large_scores` multiplies the queries by 4, `equal_values` are one
/// number in each column.
inline DrawnOperands draw_operands(Inputs inputs, std::int64_t queries, std::int64_t keys,
                                   std::int64_t width, const gqa::FloatFormat& format,
                                   gqa::test::Random& random) {
  DrawnOperands o;
  const double factor = inputs == Inputs::large_scores ? 4 : 1;
  o.query = draw_numbers(inputs, queries * width, factor, format, random);
  o.key = draw_numbers(inputs, keys * width, 1, format, random);
  o.value = draw_numbers(inputs, keys * width, 1, format, random);
  if (inputs != Inputs::equal_values) return o;
  for (std::size_t e = static_cast<std::size_t>(width); e < o.value.size(); ++e) {
    o.value[e] = o.value[e - static_cast<std::size_t>(width)];
  }
  return o;
}

}  // namespace gqa_bench
