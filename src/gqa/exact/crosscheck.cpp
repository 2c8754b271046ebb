#include "gqa/exact/crosscheck.hpp"

#include <cmath>
#include <cstdlib>
#include <limits>

namespace gqa {
namespace {

// Working precision of conversions: far beyond the 168 bits of the widest format.
constexpr long conversion_bits = 320;
constexpr int conversion_digits = 80;

// Correct rounding of an 80-digit decimal is the correct rounding of the number itself
// unless the two straddle a rounding boundary; the error is below u (1 + 10^-29) anyway,
// which the factor 2 for perturbed operands below covers.
template <class T>
T from_ball(const Ball& value) {
  char* text = arb_get_str(value.get(), conversion_digits, ARB_STR_NO_RADIUS);
  T result;
  if constexpr (std::is_same_v<T, double>) {
    result = std::strtod(text, nullptr);
  } else if constexpr (std::is_same_v<T, long double>) {
    result = std::strtold(text, nullptr);
  } else {
    result = T(text);
  }
  flint_free(text);
  return result;
}

Rational exact_value(double value) {
  return Rational(value);
}
Rational exact_value(long double value) {
  const auto high = static_cast<double>(value);
  return Rational(high) + Rational(static_cast<double>(value - static_cast<long double>(high)));
}
Rational exact_value(const Float50& value) {
  int exponent = 0;
  const Float50 mantissa = frexp(value, &exponent);
  constexpr int bits = std::numeric_limits<Float50>::digits;
  const auto integer = ldexp(mantissa, bits).convert_to<boost::multiprecision::cpp_int>();
  return Rational(mpz_class(integer.str())) * power_of_two(exponent - bits);
}

bool is_finite(double value) {
  return std::isfinite(value);
}
bool is_finite(long double value) {
  return std::isfinite(value);
}
bool is_finite(const Float50& value) {
  return boost::multiprecision::isfinite(value);
}

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
// THEORY 2.1, with operands that were rounded too. Write M for score_magnitude, n for the
// number of query coordinates, S for the visible keys, gamma(m) = m u / (1 - m u).
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
  const auto gamma = [u](double m) { return m * u / (1 - m * u); };
  const double d = gamma(static_cast<double>(n) + 12) * score;
  const double e = d + 2 * u * (score + d);
  // expm1(e) + k u (1 + expm1(e)), in a form that does not cancel for u = 2^-168.
  const double rho = std::expm1(e) * (1 + exp_units * u) + exp_units * u;
  const double g = gamma(2 * static_cast<double>(visible) + 4);
  const double bound = (2 * rho + g + rho * g) / (1 - rho);
  return bound * (1 + 0x1p-30);  // this computation's own rounding
}

// Smallest positive normal number, as the price of an underflow in exp or a product.
template <class T>
Rational underflow_unit() {
  if constexpr (std::is_same_v<T, double>) return power_of_two(-1022);
  return power_of_two(-16382);
}

}  // namespace

void CrossCheck::merge(const CrossCheck& other) {
  if (other.max_error > max_error || elements == 0) {
    max_error = other.max_error;
    tolerance = other.tolerance;
  }
  within = (elements == 0 || within) && other.within;
  max_ratio = std::max(max_ratio, other.max_ratio);
  elements += other.elements;
}

std::string_view name(CheckFormat format) {
  switch (format) {
    case CheckFormat::binary64:
      return "binary64";
    case CheckFormat::long_double:
      return "long double";
    case CheckFormat::decimal50:
      return "50-digit";
  }
  return "?";
}

namespace {

template <class T, class From, class Enclose>
Tensor<T> converted(const Tensor<From>& from, Enclose&& enclosed) {
  Tensor<T> to(from.shape(), T(0));
  for (std::size_t i = 0; i < from.size(); ++i) {
    to.data()[i] = from_ball<T>(enclosed(from.data()[i]));
  }
  return to;
}

// One-hot keys [B, Hkv, S, S]: key j reads coordinate j of the query.
template <class T>
Tensor<T> one_hot_keys(const Shape& value) {
  Tensor<T> keys({value[0], value[1], value[2], value[2]}, T(0));
  for (std::int64_t b = 0; b < value[0]; ++b) {
    for (std::int64_t g = 0; g < value[1]; ++g) {
      for (std::size_t j = 0; j < static_cast<std::size_t>(value[2]); ++j) {
        keys.matrix(b, g)(j, j) = T(1);
      }
    }
  }
  return keys;
}

}  // namespace

template <class T>
Problem<RealNumbers<T>> real_path_problem(const Problem<GmpNumbers>& exact) {
  const PrecisionScope precision(conversion_bits);
  using std::sqrt;
  const auto rational = [](const Rational& x) { return Ball(x); };
  const auto logarithm = [](const LogRational& x) { return enclose(x); };
  Problem<RealNumbers<T>> real;
  real.contract = exact.contract;
  real.lengths = exact.lengths;
  real.mask = exact.mask;
  real.value = converted<T>(exact.value, rational);
  if (exact.strengths) {
    const Ball root = gqa::sqrt(Ball(static_cast<int>(exact.value.extent(2))));
    real.query =
        converted<T>(*exact.strengths, [&](const Rational& a) { return log(Ball(a)) * root; });
    real.key = one_hot_keys<T>(exact.value.shape());
  } else {
    const Ball root = gqa::sqrt(Ball(static_cast<int>(exact.query.extent(3))));
    real.query = converted<T>(exact.query, [&](const LogRational& q) { return enclose(q) * root; });
    real.key = converted<T>(exact.key, rational);
  }
  real.scale = T(T(1) / sqrt(T(static_cast<int>(real.query.extent(3)))));
  if (exact.bias) real.bias = converted<T>(*exact.bias, logarithm);
  if (exact.score_shift) real.score_shift = converted<T>(*exact.score_shift, logarithm);
  if (exact.sink) {
    real.sink.emplace();
    for (const LogRational& sink : *exact.sink) real.sink->push_back(from_ball<T>(enclose(sink)));
  }
  return real;
}

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
        const auto weights = result.weights.matrix(b, h).row(i);
        for (std::size_t c = 0; c < values.columns(); ++c) {
          Rational mean_magnitude(0);
          Rational largest(0);
          for (const std::size_t j : visible) {
            const Rational value = abs(values(j, c));
            mean_magnitude += weights[j] * value;
            if (value > largest) largest = value;
          }
          tolerance.matrix(b, h)(i, c) =
              Rational(relative) * mean_magnitude +
              underflow_unit<T>() * Rational(static_cast<long>(visible.size())) * (largest + 1);
        }
      }
    }
  }
  return tolerance;
}

template <class T>
CrossCheck compare_with_exact(const Tensor<T>& output, const Tensor<Rational>& exact,
                              const Tensor<Rational>& tolerance) {
  CrossCheck check;
  check.elements = static_cast<std::int64_t>(exact.size());
  if (output.shape() != exact.shape() || tolerance.shape() != exact.shape()) return check;
  bool within = true;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (!is_finite(output.data()[i])) {
      check.max_error = check.max_ratio = std::numeric_limits<double>::infinity();
      within = false;
      continue;
    }
    const Rational error = abs(Rational(exact_value(output.data()[i]) - exact.data()[i]));
    within = within && error <= tolerance.data()[i];
    const double magnitude_of_error = Ball(error).upper_double();
    const double allowed = Ball(tolerance.data()[i]).upper_double();
    if (magnitude_of_error > check.max_error || check.tolerance == 0) {
      check.max_error = magnitude_of_error;
      check.tolerance = allowed;
    }
    if (error == 0) continue;
    const double ratio = tolerance.data()[i] == 0
                             ? std::numeric_limits<double>::infinity()
                             : Ball(Rational(error / tolerance.data()[i])).upper_double();
    check.max_ratio = std::max(check.max_ratio, ratio);
  }
  check.within = within;
  return check;
}

namespace {

template <class T>
CrossCheck crosscheck_in(const Problem<GmpNumbers>& exact,
                         const AttentionResult<GmpNumbers>& result) {
  const auto real = attention(real_path_problem<T>(exact));
  return compare_with_exact(real.output, result.output, derived_tolerance<T>(exact, result));
}

}  // namespace

CrossCheck crosscheck(const Problem<GmpNumbers>& exact, const AttentionResult<GmpNumbers>& result,
                      CheckFormat format) {
  CrossCheck check;
  switch (format) {
    case CheckFormat::binary64:
      check = crosscheck_in<double>(exact, result);
      break;
    case CheckFormat::long_double:
      check = crosscheck_in<long double>(exact, result);
      break;
    case CheckFormat::decimal50:
      check = crosscheck_in<Float50>(exact, result);
      break;
  }
  check.format = format;
  return check;
}

template Problem<DoubleNumbers> real_path_problem<double>(const Problem<GmpNumbers>&);
template Problem<LongDoubleNumbers> real_path_problem<long double>(const Problem<GmpNumbers>&);
template Problem<Float50Numbers> real_path_problem<Float50>(const Problem<GmpNumbers>&);
template Tensor<Rational> derived_tolerance<double>(const Problem<GmpNumbers>&,
                                                    const AttentionResult<GmpNumbers>&);
template Tensor<Rational> derived_tolerance<long double>(const Problem<GmpNumbers>&,
                                                         const AttentionResult<GmpNumbers>&);
template Tensor<Rational> derived_tolerance<Float50>(const Problem<GmpNumbers>&,
                                                     const AttentionResult<GmpNumbers>&);
template CrossCheck compare_with_exact<double>(const Tensor<double>&, const Tensor<Rational>&,
                                               const Tensor<Rational>&);
template CrossCheck compare_with_exact<long double>(const Tensor<long double>&,
                                                    const Tensor<Rational>&,
                                                    const Tensor<Rational>&);
template CrossCheck compare_with_exact<Float50>(const Tensor<Float50>&, const Tensor<Rational>&,
                                                const Tensor<Rational>&);

}  // namespace gqa
