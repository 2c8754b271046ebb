#include "gqa/num/ball.hpp"

#include <flint/fmpq.h>

#include <cmath>
#include <limits>

namespace gqa {
namespace {

thread_local long current_precision = 128;

// arb_dot walks raw arb structs, so a Ball must be nothing but one.
static_assert(sizeof(Ball) == sizeof(arb_struct));

arb_srcptr raw(const Ball* balls) {
  return balls->get();
}

Rational rational_from_arf(const arf_t value) {
  fmpq_t exact;
  fmpq_init(exact);
  arf_get_fmpq(exact, value);
  Rational result;
  fmpq_get_mpq(result.get_mpq_t(), exact);
  fmpq_clear(exact);
  return result;
}

// Applies `bound` (arb_get_lbound_arf and its like) and keeps the value exact.
template <class Bound>
Rational exact_bound(const Ball& ball, Bound bound) {
  // The bound functions round outwards at the given precision; both parts of a
  // ball are dyadic, so a large enough precision makes the bound tight.
  arf_t end;
  arf_init(end);
  bound(end, ball.get(), current_precision + 64);
  Rational result = rational_from_arf(end);
  arf_clear(end);
  return result;
}

}  // namespace

long precision_bits() noexcept {
  return current_precision;
}

PrecisionScope::PrecisionScope(long bits) noexcept : previous_(current_precision) {
  current_precision = bits;
}
PrecisionScope::~PrecisionScope() {
  current_precision = previous_;
}

Ball::Ball(const Rational& value) : Ball() {
  fmpq_t exact;
  fmpq_init(exact);
  fmpq_set_mpq(exact, value.get_mpq_t());
  arb_set_fmpq(value_, exact, current_precision);
  fmpq_clear(exact);
}

Ball Ball::hull(const Ball& a, const Ball& b) {
  Ball result;
  arb_union(result.value_, a.value_, b.value_, current_precision);
  return result;
}

Ball Ball::with_radius(double midpoint, double radius) {
  Ball result(midpoint);
  mag_set_d(arb_radref(result.value_), radius);
  return result;
}

Ball& Ball::operator+=(const Ball& other) {
  arb_add(value_, value_, other.value_, current_precision);
  return *this;
}
Ball& Ball::operator-=(const Ball& other) {
  arb_sub(value_, value_, other.value_, current_precision);
  return *this;
}
Ball& Ball::operator*=(const Ball& other) {
  arb_mul(value_, value_, other.value_, current_precision);
  return *this;
}
Ball& Ball::operator/=(const Ball& other) {
  arb_div(value_, value_, other.value_, current_precision);
  return *this;
}
Ball Ball::operator-() const {
  Ball result;
  arb_neg(result.value_, value_);
  return result;
}

bool Ball::contains(const Rational& value) const {
  fmpq_t exact;
  fmpq_init(exact);
  fmpq_set_mpq(exact, value.get_mpq_t());
  const bool inside = arb_contains_fmpq(value_, exact) != 0;
  fmpq_clear(exact);
  return inside;
}

Rational Ball::lower() const {
  return exact_bound(*this, arb_get_lbound_arf);
}
Rational Ball::upper() const {
  return exact_bound(*this, arb_get_ubound_arf);
}

double Ball::lower_double() const {
  if (!is_finite()) return -std::numeric_limits<double>::infinity();
  arf_t end;
  arf_init(end);
  arb_get_lbound_arf(end, value_, 64);
  const double result = arf_get_d(end, ARF_RND_FLOOR);
  arf_clear(end);
  return result;
}

double Ball::upper_double() const {
  if (!is_finite()) return std::numeric_limits<double>::infinity();
  arf_t end;
  arf_init(end);
  arb_get_ubound_arf(end, value_, 64);
  const double result = arf_get_d(end, ARF_RND_CEIL);
  arf_clear(end);
  return result;
}

double Ball::midpoint_double() const {
  return arf_get_d(arb_midref(value_), ARF_RND_NEAR);
}

Ball Ball::midpoint() const {
  Ball result;
  arb_get_mid_arb(result.value_, value_);
  return result;
}

bool midpoint_less(const Ball& x, const Ball& y) {
  return arf_cmp(arb_midref(x.get()), arb_midref(y.get())) < 0;
}

Ball exp(const Ball& x) {
  Ball result;
  arb_exp(result.get(), x.get(), current_precision);
  return result;
}
Ball log(const Ball& x) {
  Ball result;
  arb_log(result.get(), x.get(), current_precision);
  return result;
}
Ball sqrt(const Ball& x) {
  Ball result;
  // arb_sqrtpos takes a negative number for a zero that was rounded.
  if (arb_is_negative(x.get()) != 0) {
    arb_indeterminate(result.get());
    return result;
  }
  arb_sqrtpos(result.get(), x.get(), current_precision);
  return result;
}
Ball tanh(const Ball& x) {
  Ball result;
  arb_tanh(result.get(), x.get(), current_precision);
  return result;
}
Ball abs(const Ball& x) {
  Ball result;
  arb_abs(result.get(), x.get());
  return result;
}
Ball max(const Ball& a, const Ball& b) {
  Ball result;
  arb_max(result.get(), a.get(), b.get(), current_precision);
  return result;
}
Ball min(const Ball& a, const Ball& b) {
  Ball result;
  arb_min(result.get(), a.get(), b.get(), current_precision);
  return result;
}

Uncertain less(const Ball& x, const Ball& y) {
  if (!x.is_finite() || !y.is_finite()) return Uncertain::unknown();
  if (arb_lt(x.get(), y.get()) != 0) return Uncertain::yes();
  if (arb_ge(x.get(), y.get()) != 0) return Uncertain::no();
  return Uncertain::unknown();
}

Uncertain less_equal(const Ball& x, const Ball& y) {
  return !less(y, x);
}

Ball dot(const Ball* a, const Ball* b, std::size_t count) {
  Ball result;
  if (count == 0) return result;
  arb_dot(result.get(), nullptr, 0, raw(a), 1, raw(b), 1, static_cast<slong>(count),
          current_precision);
  return result;
}

std::string to_text(const Ball& x, int digits) {
  char* text = arb_get_str(x.get(), digits, 0);
  std::string result(text);
  flint_free(text);
  return result;
}

}  // namespace gqa
