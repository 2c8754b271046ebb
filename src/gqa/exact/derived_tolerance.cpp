// How far a float evaluation through the real path may be from the exact output.
#include <cmath>
#include <limits>

#include "gqa/error.hpp"
#include "gqa/exact/crosscheck.hpp"
#include "gqa/num/roundoff.hpp"

namespace gqa {
namespace {

// Error of the library's exp in units of the unit roundoff u: the C library documents at
// most 2 ulp = 4 u for exp and expl on x86-64 and aarch64; Boost computes its 50-digit exp
// with guard digits, within a few ulp; assumed four times as wide here.
template <class T>
constexpr double exp_error_units() {
  return std::is_same_v<T, Float50> ? 16 : 4;
}

template <class T>
double unit_roundoff() {
  return std::ldexp(1.0, -std::numeric_limits<T>::digits);
}

// Upper bound of |x| as a double, for bounds computed in binary64 with slack at the end.
double magnitude(const Ball& value) {
  return abs(value).upper_double();
}
double magnitude(const Rational& value) {
  return magnitude(Ball(value));
}

// Largest over the visible keys of sum_t |q_t k_jt| + |bias| + |shift|, in scaled scores.
double score_magnitude(const Problem<GmpNumbers>& exact, const std::vector<std::size_t>& visible,
                       std::int64_t b, std::int64_t h, std::int64_t kv, std::size_t i) {
  double largest = 0;
  if (exact.sink) largest = magnitude(enclose((*exact.sink)[static_cast<std::size_t>(h)]));
  for (const std::size_t j : visible) {
    double sum = 0;
    if (exact.strengths) {
      const Rational& strength = exact.strengths->matrix(b, h)(i, j);
      sum = magnitude(log(Ball(strength)));
    } else {
      const auto query = exact.query.matrix(b, h).row(i);
      const auto key = exact.key.matrix(b, kv).row(j);
      for (std::size_t t = 0; t < query.size(); ++t) {
        sum += magnitude(enclose(query[t])) * magnitude(key[t]);
      }
    }
    if (exact.bias) sum += magnitude(enclose(exact.bias->matrix(b, h)(i, j)));
    if (exact.score_shift) sum += magnitude(enclose(exact.score_shift->matrix(b, h)(i, 0)));
    largest = std::max(largest, sum);
  }
  return largest;
}

// Relative error bound of a row's normalised, weighted sum, against sum w_j |v_j|.
//
// docs/theory.md, "Rung 1: the filter", with operands that were rounded too. Write M for
// score_magnitude, n for the number of query coordinates, S for the visible keys, gamma(m) = m u /
// (1 - m u).
// - Each product q_t k_t carries two operand roundings, its own, n - 1 additions, the
//   division for 1/sqrt(dk), the square root and the scaling, and the rounding of
//   sqrt(dk) q: at most n + 8 factors (1 + d). Bias and shift: their own rounding and one
//   addition each. So |s^ - s| <= D = gamma(n + 12) M.
// - Subtracting the row's maximum m^ (any shift is exact in mathematics) rounds by
//   u |x| <= u 2 (M + D); exp is within k u: each strength is exp(e) (1 + k u) times the
//   exact one with |e| <= D + 2 u (M + D), so rho = exp(that) (1 + k u) - 1.
// - Sums of S + 1 positive terms, a division, a product with a rounded value and S
//   additions: 2 S + 4 further factors. Numerators err by at most rho above and the
//   denominator by at most rho below:
//   relative <= (1 + rho) (1 + gamma(2 S + 4)) / (1 - rho) - 1.
double row_relative_bound(double u, double exp_units, std::size_t n, std::size_t visible,
                          double score) {
  const double d = gamma(static_cast<double>(n) + 12, u) * score;
  const double e = d + 2 * u * (score + d);
  // expm1(e) + k u (1 + expm1(e)), in a form that does not cancel for u = 2^-168.
  const double rho = std::expm1(e) * (1 + exp_units * u) + exp_units * u;
  const double g = gamma(2 * static_cast<double>(visible) + 4, u);
  if (!(rho < 0.5)) {
    throw InputError("fixture.crosscheck", "query",
                     "has scores so large that this arithmetic bounds nothing");
  }
  const double bound = (2 * rho + g + rho * g) / (1 - rho);
  return bound * (1 + 0x1p-30);  // this computation's own rounding
}

// Smallest positive normal number, as the price of an underflow in exp or a product.
template <class T>
Rational underflow_unit() {
  if constexpr (std::is_same_v<T, double>) return power_of_two(-1022);
  return power_of_two(-16382);
}

// relative * sum w_j |v_jc|, and an underflow of each key, column by column.
template <class T>
void fill_row(double relative, const std::vector<std::size_t>& visible,
              MatrixView<const Rational> values, std::span<const Rational> weights,
              std::span<Rational> tolerance) {
  for (std::size_t c = 0; c < values.columns(); ++c) {
    Rational mean_magnitude(0);
    Rational largest(0);
    for (const std::size_t j : visible) {
      const Rational value = abs(values(j, c));
      mean_magnitude += weights[j] * value;
      if (value > largest) largest = value;
    }
    tolerance[c] =
        Rational(relative) * mean_magnitude +
        underflow_unit<T>() * Rational(static_cast<long>(visible.size())) * (largest + 1);
  }
}

}  // namespace

template <class T>
Tensor<Rational> derived_tolerance(const Problem<GmpNumbers>& exact,
                                   const AttentionResult<GmpNumbers>& result) {
  const Dimensions d = dimensions_of(exact);
  const auto head_map = resolve_head_map(exact.contract.head_map, d.q_heads, d.kv_heads);
  const Visibility visibility(exact.contract, d, exact.lengths, exact.mask);
  const std::size_t coordinates = static_cast<std::size_t>(exact.strengths ? d.keys : d.key_size);
  Tensor<Rational> tolerance(result.output.shape());
  for (std::int64_t b = 0; b < d.batch; ++b) {
    for (std::int64_t h = 0; h < d.q_heads; ++h) {
      const std::int64_t kv = head_map[static_cast<std::size_t>(h)];
      const auto values = exact.value.matrix(b, kv);
      for (std::size_t i = 0; i < static_cast<std::size_t>(d.queries); ++i) {
        const auto visible = visibility.keys_of(b, h, static_cast<std::int64_t>(i));
        const double relative =
            row_relative_bound(unit_roundoff<T>(), exp_error_units<T>(), coordinates,
                               visible.size(), score_magnitude(exact, visible, b, h, kv, i));
        fill_row<T>(relative, visible, values, result.weights.matrix(b, h).row(i),
                    tolerance.matrix(b, h).row(i));
      }
    }
  }
  return tolerance;
}

template Tensor<Rational> derived_tolerance<double>(const Problem<GmpNumbers>&,
                                                    const AttentionResult<GmpNumbers>&);
template Tensor<Rational> derived_tolerance<long double>(const Problem<GmpNumbers>&,
                                                         const AttentionResult<GmpNumbers>&);
template Tensor<Rational> derived_tolerance<Float50>(const Problem<GmpNumbers>&,
                                                     const AttentionResult<GmpNumbers>&);
}  // namespace gqa
