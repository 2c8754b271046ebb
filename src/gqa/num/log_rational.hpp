// Rational combinations of logarithms of primes: scores whose exp can be exact.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "gqa/num/ball.hpp"
#include "gqa/num/rational.hpp"

namespace gqa {

/// Primes beyond this are refused: factorisation is by trial division.
inline constexpr std::uint64_t largest_log_prime = 1U << 20;

/// An element sum c_p ln(p) of the rational vector space spanned by the logarithms
/// of the primes, with coefficients in the rational engine R.
///
/// Those logarithms are linearly independent over the rationals (unique
/// factorisation), so two elements are equal exactly if their coefficients are,
/// and exp of one is rational exactly if all its coefficients are integers.
template <class R>
class BasicLogRational {
 public:
  BasicLogRational() = default;

  /// ln(value). Errors: InputError "log_rational.not_positive",
  /// "log_rational.prime_too_large".
  static BasicLogRational log_of(const Rational& value, std::string_view where = "logarithm");

  BasicLogRational& operator+=(const BasicLogRational& other) {
    for (const auto& [prime, coefficient] : other.coefficients_) add(prime, coefficient);
    return *this;
  }
  friend BasicLogRational operator+(BasicLogRational a, const BasicLogRational& b) {
    return a += b;
  }
  friend BasicLogRational operator*(const BasicLogRational& a, const R& factor) {
    BasicLogRational result;
    if (factor == 0) return result;
    for (const auto& [prime, coefficient] : a.coefficients_) {
      result.coefficients_[prime] = R(coefficient * factor);
    }
    return result;
  }
  friend BasicLogRational operator*(const R& factor, const BasicLogRational& a) {
    return a * factor;
  }
  BasicLogRational operator-() const { return *this * R(-1); }
  friend BasicLogRational operator-(const BasicLogRational& a, const BasicLogRational& b) {
    return a + -b;
  }
  friend bool operator==(const BasicLogRational&, const BasicLogRational&) = default;

  bool is_zero() const { return coefficients_.empty(); }

  /// exp of this number if that is rational, otherwise nullopt.
  /// Errors: InputError "log_rational.exponent_out_of_range" beyond max_text_exponent.
  std::optional<R> exp() const;

  /// Coefficient of ln(prime), prime by prime; never a zero coefficient.
  const std::map<std::uint64_t, R>& coefficients() const { return coefficients_; }

 private:
  void add(std::uint64_t prime, const R& coefficient) {
    R& mine = coefficients_[prime];
    mine += coefficient;
    if (mine == 0) coefficients_.erase(prime);
  }
  std::map<std::uint64_t, R> coefficients_;

  template <class Other>
  friend class BasicLogRational;
  template <class To, class From>
  friend BasicLogRational<To> log_rational_cast(const BasicLogRational<From>& value);
};

using LogRational = BasicLogRational<Rational>;
using BoostLogRational = BasicLogRational<BoostRational>;

template <>
std::optional<Rational> BasicLogRational<Rational>::exp() const;
template <>
std::optional<BoostRational> BasicLogRational<BoostRational>::exp() const;
extern template class BasicLogRational<Rational>;
extern template class BasicLogRational<BoostRational>;

/// Converts between engines.
template <class To, class From>
BasicLogRational<To> log_rational_cast(const BasicLogRational<From>& value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else {
    BasicLogRational<To> result;
    for (const auto& [prime, coefficient] : value.coefficients_) {
      result.coefficients_[prime] = rational_cast<To>(coefficient);
    }
    return result;
  }
}

/// Reads "0", "ln(3)", "-ln(2)", "1/2*ln(9)", "2*ln(3) - 1/2*ln(3/4)".
/// Spaces around + and - are allowed, nothing else around the text.
/// Errors: InputError "log_rational.syntax" (a bare number other than 0 included:
/// its exp is not rational), those of `log_of` and of `parse_rational`.
LogRational parse_log_rational(std::string_view text, std::string_view where = "logarithm");

/// In the form that parse_log_rational reads.
std::string to_text(const LogRational& value);

/// Encloses the real number at working precision.
Ball enclose(const LogRational& value);

}  // namespace gqa
