// Enclosures of real numbers: an Arb ball with its memory and precision managed.
#pragma once

#if __has_include(<flint/arb.h>)
#include <flint/arb.h>
#else
#include <arb.h>
#endif

#include <optional>
#include <string>

#include "gqa/num/rational.hpp"
#include "gqa/num/uncertain.hpp"

namespace gqa {

/// Working precision of ball arithmetic on this thread, in bits (default 128).
long precision_bits() noexcept;

/// Sets the working precision of this thread for the life of the object.
class PrecisionScope {
 public:
  explicit PrecisionScope(long bits) noexcept;
  ~PrecisionScope();
  PrecisionScope(const PrecisionScope&) = delete;
  PrecisionScope& operator=(const PrecisionScope&) = delete;

 private:
  long previous_;
};

/// A midpoint and a radius that together contain a real number.
///
/// Result: every operation encloses: if x is in X and y in Y then f(x, y) is in
/// f(X, Y), at the thread's `precision_bits()`. What is undefined (division by a
/// ball that contains zero, the logarithm of one, the square root of a ball below
/// zero) gives a ball that is not finite.
/// Source: Johansson, "Arb: efficient arbitrary-precision midpoint-radius interval
/// arithmetic", IEEE Trans. Comput. 66 (2017).
class Ball {
 public:
  Ball() noexcept { arb_init(value_); }
  /// Exactly `value`; NaN and infinities give a ball that is not finite.
  Ball(double value) : Ball() { arb_set_d(value_, value); }  // NOLINT: a number is a number
  Ball(int value) : Ball() { arb_set_si(value_, value); }    // NOLINT
  /// Encloses `value`, to the working precision.
  explicit Ball(const Rational& value);
  Ball(const Ball& other) : Ball() { arb_set(value_, other.value_); }
  Ball(Ball&& other) noexcept : Ball() { arb_swap(value_, other.value_); }
  Ball& operator=(const Ball& other) {
    arb_set(value_, other.value_);
    return *this;
  }
  Ball& operator=(Ball&& other) noexcept {
    arb_swap(value_, other.value_);
    return *this;
  }
  ~Ball() { arb_clear(value_); }

  /// The smallest ball at working precision that contains both.
  static Ball hull(const Ball& a, const Ball& b);
  /// The ball of that radius about `midpoint`. `radius` must be finite and >= 0.
  static Ball with_radius(double midpoint, double radius);

  Ball& operator+=(const Ball& other);
  Ball& operator-=(const Ball& other);
  Ball& operator*=(const Ball& other);
  Ball& operator/=(const Ball& other);
  friend Ball operator+(Ball a, const Ball& b) { return a += b; }
  friend Ball operator-(Ball a, const Ball& b) { return a -= b; }
  friend Ball operator*(Ball a, const Ball& b) { return a *= b; }
  friend Ball operator/(Ball a, const Ball& b) { return a /= b; }
  Ball operator-() const;

  /// True if the ball is bounded (its midpoint a number, its radius finite).
  bool is_finite() const { return arb_is_finite(value_) != 0; }
  bool is_exact() const { return arb_is_exact(value_) != 0; }
  bool contains(const Rational& value) const;
  bool contains_zero() const { return arb_contains_zero(value_) != 0; }

  /// Exact rational end points. Precondition: is_finite().
  Rational lower() const;
  Rational upper() const;
  /// End points rounded outwards to binary64; infinite if the ball is not finite.
  double lower_double() const;
  double upper_double() const;
  double midpoint_double() const;
  /// The midpoint, exactly.
  Ball midpoint() const;

  arb_srcptr get() const { return value_; }
  arb_ptr get() { return value_; }

 private:
  arb_t value_;
};

Ball exp(const Ball& x);
Ball log(const Ball& x);
Ball sqrt(const Ball& x);
Ball tanh(const Ball& x);
Ball abs(const Ball& x);
/// The larger (smaller) of two enclosed numbers, itself enclosed.
Ball max(const Ball& a, const Ball& b);
Ball min(const Ball& a, const Ball& b);

/// Is x < y (x <= y) for the enclosed numbers? Not finite means unknown.
Uncertain less(const Ball& x, const Ball& y);
Uncertain less_equal(const Ball& x, const Ball& y);

/// Is the midpoint of x below that of y? Says nothing about the enclosed numbers.
bool midpoint_less(const Ball& x, const Ball& y);

/// sum of a[i] * b[i], with one rounding. `a` and `b` are contiguous balls.
Ball dot(const Ball* a, const Ball* b, std::size_t count);

/// Midpoint and radius as decimal text, for failure messages and reports.
std::string to_text(const Ball& x, int digits = 20);

}  // namespace gqa
