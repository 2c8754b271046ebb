// Exact fractions of machine words: the fast lane of sums whose numbers are small.
#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "gqa/num/rational.hpp"

namespace gqa {

/// 128-bit integers hold sums of products of small ones without overflow.
__extension__ using WideInteger = __int128;

/// Magnitudes below 2^46 are small: 2^30 products of two of them stay below 2^122.
inline constexpr std::int64_t small_limit = std::int64_t{1} << 46;
inline constexpr std::size_t most_small_terms = std::size_t{1} << 30;

/// The value if its magnitude is small, otherwise nullopt.
inline std::optional<std::int64_t> small_value(const mpz_class& value) {
  const mpz_srcptr number = value.get_mpz_t();
  if (mpz_size(number) > 1) return std::nullopt;
  const mp_limb_t magnitude = mpz_getlimbn(number, 0);
  if (magnitude >= static_cast<mp_limb_t>(small_limit)) return std::nullopt;
  const auto word = static_cast<std::int64_t>(magnitude);
  return mpz_sgn(number) < 0 ? -word : word;
}

/// Sets `result` to numerator / denominator, canonical, in the memory it has.
/// Precondition: denominator > 0, both magnitudes below 2^124.
void set_fraction(Rational& result, WideInteger numerator, WideInteger denominator);

/// A fraction of machine words in lowest terms, denominator > 0.
struct WordFraction {
  std::int64_t numerator;
  std::int64_t denominator;

  /// n / d reduced. Precondition: d > 0.
  static constexpr WordFraction reduced(std::int64_t n, std::int64_t d) {
    const std::int64_t divisor = std::gcd(n, d);
    return {n / divisor, d / divisor};
  }
};

/// Appends the fraction in engine R, canonical as it stands.
template <class R>
void append(std::vector<R>& to, const WordFraction& fraction) {
  to.emplace_back(static_cast<long>(fraction.numerator), static_cast<long>(fraction.denominator));
}

}  // namespace gqa
