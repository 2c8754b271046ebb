// Real numbers between two multiples of 2^-160, for statements about irrational numbers.
#pragma once

#include "gqa/theory/certificate_fields.hpp"

namespace gqa::certificate_rules {

/// lower / 2^160 <= x <= upper / 2^160. Every operation encloses all results.
class Enclosure {
 public:
  static constexpr unsigned bits = 160;

  Enclosure() = default;
  /// The rational between its neighbours.
  explicit Enclosure(const Rational& x);
  /// Of x >= 0.
  static Enclosure root(const Rational& x);
  /// exp(x); rejects |x| beyond 4096.
  static Enclosure exp(const Enclosure& x);

  Enclosure operator+(const Enclosure& other) const;
  Enclosure operator-(const Enclosure& other) const;
  Enclosure operator*(const Enclosure& other) const;
  /// Rejects a divisor that is not known to be positive.
  Enclosure operator/(const Enclosure& other) const;

  /// Known to be so; false where the enclosures overlap.
  bool is_below(const Enclosure& other) const { return upper_ < other.lower_; }
  mpz_class floor() const;
  /// The largest |x|.
  Enclosure magnitude() const;

 private:
  Enclosure(mpz_class lower, mpz_class upper);

  mpz_class lower_, upper_;
};

}  // namespace gqa::certificate_rules
