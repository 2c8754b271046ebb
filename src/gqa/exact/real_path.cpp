// Float operands for the cross-check: every exact operand rounded once.
#include <cmath>
#include <cstdlib>

#include "gqa/exact/crosscheck.hpp"

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

template Problem<DoubleNumbers> real_path_problem<double>(const Problem<GmpNumbers>&);
template Problem<LongDoubleNumbers> real_path_problem<long double>(const Problem<GmpNumbers>&);
template Problem<Float50Numbers> real_path_problem<Float50>(const Problem<GmpNumbers>&);
}  // namespace gqa
