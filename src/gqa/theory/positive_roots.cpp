#include "gqa/theory/positive_roots.hpp"

#include <flint/fmpq.h>
#include <flint/fmpq_poly.h>

#include <algorithm>
#include <utility>

namespace gqa {
namespace {

// FLINT's polynomial, its memory managed.
class Poly {
 public:
  Poly() { fmpq_poly_init(poly_); }
  explicit Poly(const RationalPolynomial& coefficients) : Poly() {
    for (std::size_t i = 0; i < coefficients.size(); ++i) {
      fmpq_poly_set_coeff_mpq(poly_, static_cast<slong>(i), coefficients[i].get_mpq_t());
    }
  }
  Poly(const Poly& other) : Poly() { fmpq_poly_set(poly_, other.poly_); }
  Poly& operator=(const Poly& other) {
    fmpq_poly_set(poly_, other.poly_);
    return *this;
  }
  ~Poly() { fmpq_poly_clear(poly_); }

  fmpq_poly_struct* get() { return poly_; }
  const fmpq_poly_struct* get() const { return poly_; }
  bool is_zero() const { return fmpq_poly_is_zero(poly_) != 0; }

  RationalPolynomial coefficients() const {
    RationalPolynomial result;
    for (slong i = 0; i < fmpq_poly_length(poly_); ++i) {
      Rational x;
      fmpq_poly_get_coeff_mpq(x.get_mpq_t(), poly_, i);
      result.push_back(x);
    }
    if (result.empty()) result.emplace_back(0);
    return result;
  }

 private:
  fmpq_poly_t poly_;
};

Poly product_of(const Poly& a, const Poly& b) {
  Poly result;
  fmpq_poly_mul(result.get(), a.get(), b.get());
  return result;
}

Poly quotient_of(const Poly& a, const Poly& b) {
  Poly result;
  fmpq_poly_div(result.get(), a.get(), b.get());
  return result;
}

RationalPolynomial trimmed(RationalPolynomial p) {
  while (!p.empty() && p.back() == 0) p.pop_back();
  return p;
}

int sign_at(const RationalPolynomial& p, const Rational& y) {
  Rational value = 0;
  for (std::size_t i = p.size(); i > 0; --i) value = value * y + p[i - 1];
  return sgn(value);
}

// p(x + shift).
RationalPolynomial shifted(RationalPolynomial p, const Rational& shift) {
  for (std::size_t i = 0; i + 1 < p.size(); ++i) {
    for (std::size_t j = p.size() - 1; j > i; --j) p[j - 1] += shift * p[j];
  }
  return p;
}

// Changes of sign in the order of the coefficients: at least as many as positive roots, and of the
// same parity.
int changes_of_sign(const RationalPolynomial& p) {
  int changes = 0, last = 0;
  for (const Rational& x : p) {
    const int sign = sgn(x);
    if (sign == 0) continue;
    if (last != 0 && sign != last) ++changes;
    last = sign;
  }
  return changes;
}

// Of (1 + z)^n p((lower + upper z) / (1 + z)): bounds the roots between lower and upper.
int changes_between(const RationalPolynomial& p, const Rational& lower, const Rational& upper) {
  RationalPolynomial q = shifted(p, lower);
  Rational power = 1;
  for (Rational& x : q) {
    x *= power;
    power *= upper - lower;
  }
  std::ranges::reverse(q);
  return changes_of_sign(shifted(std::move(q), 1));
}

// A power of two beyond every root (Cauchy: 1 + the largest quotient by the leading coefficient).
Rational beyond_roots(const RationalPolynomial& p) {
  Rational largest = 0;
  for (const Rational& x : p) largest = std::max(largest, Rational(abs(Rational(x / p.back()))));
  Rational bound = 2;
  while (bound < largest + 1) bound *= 2;
  return bound;
}

class Bisection {
 public:
  explicit Bisection(const RationalPolynomial& polynomial) : p_(trimmed(polynomial)) {
    // A root at 0 is none above it.
    p_.erase(p_.begin(), std::ranges::find_if(p_, [](const Rational& x) { return x != 0; }));
    result_.simple = simple_part();
  }

  PositiveRoots run() {
    const Rational one = 1;
    // Often 1 alone will do, or even nothing.
    if (changes_of_sign(p_) == 0) {
      result_.breaks = {one};
      return result_;
    }
    const Rational end = beyond_roots(p_);
    if (!search(0, end)) result_.breaks.push_back(end);
    return result_;
  }

 private:
  RationalPolynomial simple_part() const {
    const Poly whole(p_);
    Poly derivative, repeated;
    fmpq_poly_derivative(derivative.get(), whole.get());
    if (derivative.is_zero()) return p_;
    fmpq_poly_gcd(repeated.get(), whole.get(), derivative.get());
    return quotient_of(whole, repeated).coefficients();
  }

  // Is there a root in the open interval? Breaks are kept in order until one is found.
  bool search(const Rational& lower, const Rational& upper) {
    const int changes = changes_between(p_, lower, upper);
    if (changes == 0) return false;
    if (changes_between(result_.simple, lower, upper) == 1) return narrow(lower, upper);
    const Rational middle((lower + upper) / 2);
    if (sign_at(result_.simple, middle) == 0) return found(middle, middle);
    if (search(lower, middle)) return true;
    result_.breaks.push_back(middle);
    return search(middle, upper);
  }

  // One simple root inside, and none at the ends; a lower end of 0 is replaced.
  bool narrow(Rational lower, const Rational& upper) {
    Rational middle = upper;
    while (lower == 0) {
      middle /= 2;
      const int sign = sign_at(result_.simple, middle);
      if (sign == 0) return found(middle, middle);
      if (sign != sign_at(result_.simple, upper)) return found(middle, upper);
    }
    return found(lower, upper);
  }

  bool found(const Rational& lower, const Rational& upper) {
    result_.any = true;
    result_.lower = lower;
    result_.upper = upper;
    result_.breaks.clear();
    return true;
  }

  RationalPolynomial p_;
  PositiveRoots result_;
};

}  // namespace

CommonDivisor common_divisor(const std::vector<RationalPolynomial>& polynomials) {
  Poly divisor;
  std::vector<Poly> cofactors(polynomials.size());
  for (std::size_t c = 0; c < polynomials.size(); ++c) {
    const Poly next(polynomials[c]);
    if (next.is_zero()) continue;
    Poly greatest, s, t;
    fmpq_poly_xgcd(greatest.get(), s.get(), t.get(), divisor.get(), next.get());
    for (std::size_t k = 0; k < c; ++k) cofactors[k] = product_of(cofactors[k], s);
    cofactors[c] = t;
    divisor = greatest;
  }
  CommonDivisor result;
  result.divisor = divisor.coefficients();
  for (std::size_t c = 0; c < polynomials.size(); ++c) {
    result.cofactors.push_back(cofactors[c].coefficients());
    result.quotients.push_back(quotient_of(Poly(polynomials[c]), divisor).coefficients());
  }
  return result;
}

RationalPolynomial polynomial_product(const RationalPolynomial& a, const RationalPolynomial& b) {
  return product_of(Poly(a), Poly(b)).coefficients();
}

PositiveRoots positive_roots(const RationalPolynomial& polynomial) {
  return Bisection(polynomial).run();
}

}  // namespace gqa
