// Seeded random operands; the number of repetitions scales with GQA_TEST_MULTIPLIER.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "gqa/num/rational.hpp"

namespace gqa::test {

inline std::uint64_t environment_number(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Under the sanitizers, which ask for memory and arithmetic and not for every instance, random
/// tests take a quarter of their seeds and the longest ones some of their cases (GQA_TEST_LIGHT=1,
/// set by that preset).
inline bool is_light() {
  return environment_number("GQA_TEST_LIGHT", 0) != 0;
}

/// The seeds of a random test: `count` times GQA_TEST_MULTIPLIER of them, from GQA_TEST_SEED
/// (default 1) on. Capture each: a failure then prints the one seed that repeats it, with
/// GQA_TEST_SEED=<it> GQA_TEST_MULTIPLIER=1. What a test demands of all seeds together it demands
/// of their number.
inline std::vector<std::uint64_t> seeds(std::uint64_t count) {
  const std::uint64_t first = environment_number("GQA_TEST_SEED", 1);
  const std::uint64_t share = is_light() ? (count + 3) / 4 : count;
  std::vector<std::uint64_t> result(share * environment_number("GQA_TEST_MULTIPLIER", 1));
  for (std::uint64_t i = 0; i < result.size(); ++i) result[i] = first + i;
  return result;
}

/// Of a number that `seeds` together must reach, the share of this run.
inline std::int64_t of_all_seeds(std::int64_t number) {
  return is_light() ? number / 4 : number;
}

/// Random operands, biased towards corners. The same seed gives the same operands on every
/// platform up to the C library's log and cos: no distribution of the standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// Uniform in [low, high].
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    const auto count = static_cast<std::uint64_t>(high - low) + 1;
    return low + static_cast<std::int64_t>(engine_() % count);
  }
  bool one_in(std::int64_t n) { return integer(1, n) == 1; }
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  double uniform(double low, double high) { return low + (high - low) * unit(); }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - unit()));
    return radius * std::cos(2 * 3.141592653589793 * unit());
  }
  template <class T>
  T pick(std::initializer_list<T> choices) {
    const auto last = static_cast<std::int64_t>(choices.size()) - 1;
    return *(choices.begin() + integer(0, last));
  }

  /// Zero, units, powers of two and their neighbours, tiny, huge, or anything between.
  double corner_double() {
    const double sign = one_in(2) ? 1 : -1;
    switch (integer(0, 6)) {
      case 0:
        return 0;
      case 1:
        return sign;
      case 2:
        return sign * std::ldexp(1.0, static_cast<int>(integer(-60, 60)));
      case 3:
        return sign * std::nextafter(std::ldexp(1.0, static_cast<int>(integer(-8, 8))), 0);
      case 4:
        return sign * std::ldexp(unit(), static_cast<int>(integer(-300, 300)));
      case 5:
        return sign * static_cast<double>(integer(0, 9));
      default:
        return normal();
    }
  }

  /// Zero, small integers, thirds and the like, corner doubles, and long fractions.
  Rational rational() {
    switch (integer(0, 3)) {
      case 0:
        return Rational(static_cast<long>(integer(-3, 3)));
      case 1:
        return small_rational();
      case 2:
        return Rational(corner_double());
      default: {
        mpz_class numerator(std::to_string(integer(-1'000'000'007, 1'000'000'007)));
        const mpz_class denominator(std::to_string(integer(1, 999'999'937)));
        if (one_in(2)) numerator <<= static_cast<unsigned>(integer(0, 200));
        return make_rational(numerator, denominator);
      }
    }
  }
  /// p/q with |p| <= 12, q <= 9.
  Rational small_rational() {
    return make_rational(mpz_class(static_cast<long>(integer(-12, 12))),
                         mpz_class(static_cast<long>(integer(1, 9))));
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace gqa::test
