#include "gqa/exact/crosscheck.hpp"

#include <cmath>
#include <limits>

namespace gqa {
namespace {

Rational exact_value(double value) {
  return Rational(value);
}
// Word by word off the significand: a double between would overflow at 2^1024, and lose what lies
// below 2^-1074.
Rational exact_value(long double value) {
  constexpr int word_bits = 32;
  int exponent = 0;
  long double rest = std::frexp(std::fabs(value), &exponent);
  mpz_class significand = 0;
  for (int taken = 0; taken < std::numeric_limits<long double>::digits; taken += word_bits) {
    rest = std::ldexp(rest, word_bits);
    const auto word = static_cast<std::uint32_t>(rest);
    significand = (significand << word_bits) + word;
    rest -= static_cast<long double>(word);
    exponent -= word_bits;
  }
  const Rational magnitude = Rational(significand) * power_of_two(exponent);
  return std::signbit(value) ? Rational(-magnitude) : magnitude;
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

}  // namespace

void CrossCheck::merge(const CrossCheck& other) {
  if (other.beyond_range) return;
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

// Sums of S values with weights of at most 1 (before they are divided by their sum) stay below
// S max|v|, rounding factors below 2: with twice that inside the format nothing overflows.
template <class T>
bool is_in_range(const Problem<GmpNumbers>& exact) {
  Rational largest = 0;
  for (const Rational& value : exact.value.data()) {
    if (abs(value) > largest) largest = abs(value);
  }
  const Rational room = 2 * largest * static_cast<unsigned long>(exact.value.extent(2));
  return room < exact_value(std::numeric_limits<T>::max());
}
// Its exponents, of about 2^30, are beyond those that an exact number may be written with.
template <>
bool is_in_range<Float50>(const Problem<GmpNumbers>&) {
  return true;
}

template <class T>
CrossCheck crosscheck_in(const Problem<GmpNumbers>& exact,
                         const AttentionResult<GmpNumbers>& result) {
  if (!is_in_range<T>(exact)) {
    CrossCheck beyond;
    beyond.beyond_range = true;
    return beyond;
  }
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

template CrossCheck compare_with_exact<double>(const Tensor<double>&, const Tensor<Rational>&,
                                               const Tensor<Rational>&);
template CrossCheck compare_with_exact<long double>(const Tensor<long double>&,
                                                    const Tensor<Rational>&,
                                                    const Tensor<Rational>&);
template CrossCheck compare_with_exact<Float50>(const Tensor<Float50>&, const Tensor<Rational>&,
                                                const Tensor<Rational>&);

}  // namespace gqa
