#include "arithmetic_sums.h"

#include <math.h>
#include <string.h>

double round_as(enum arithmetic_format format, double value) {
  static const struct {
    int precision, smallest;
    double largest;
    bool saturates;
  } formats[] = {{24, -126, 0x1.fffffep127, false},
                 {11, -126, 0x1.ffcp127, false},
                 {11, -14, 65504, false},
                 {8, -126, 0x1.fep127, false},
                 {4, -6, 448, true},
                 {3, -14, 57344, true}};
  if (format == FORMAT_F32) return (double)(float)value;
  if (value == 0 || !isfinite(value)) return value;
  int exponent = 0;
  frexp(value, &exponent);
  int unit = exponent - formats[format].precision;
  const int least = formats[format].smallest - formats[format].precision + 1;
  if (unit < least) unit = least;
  const double rounded = ldexp(nearbyint(ldexp(value, -unit)), unit);
  if (fabs(rounded) <= formats[format].largest) return rounded;
  return copysign(formats[format].saturates ? formats[format].largest : INFINITY, value);
}

/* The 24-bit number next to zero. */
static double truncated(double value) {
  uint64_t bits = 0;
  if (!isfinite(value)) return value;
  memcpy(&bits, &value, sizeof bits);
  bits &= ~(((uint64_t)1 << 29) - 1);
  memcpy(&value, &bits, sizeof bits);
  return value;
}

double plan_round(const struct sum_plan* plan, double value) {
  return plan->truncates ? truncated(value) : round_as(plan->format, value);
}

/* The exact sum is rounded to odd in double first, so that it is rounded once. */
double plan_add(const struct sum_plan* plan, double a, double b) {
  double sum = a + b;
  if (isfinite(sum)) {
    const double part = sum - a;
    const double error = (a - (sum - part)) + (b - part);
    int64_t bits = 0;
    memcpy(&bits, &sum, sizeof bits);
    if (error != 0 && (bits & 1) == 0) bits += (error > 0) == (sum > 0) ? 1 : -1;
    memcpy(&sum, &bits, sizeof bits);
  }
  return plan_round(plan, sum);
}

static double pairs(const struct sum_plan* plan, double* terms, int64_t n) {
  while (n > 1) {
    for (int64_t i = 0; i < n; i += 2) {
      terms[i / 2] = i + 1 < n ? plan_add(plan, terms[i], terms[i + 1]) : terms[i];
    }
    n = (n + 1) / 2;
  }
  return terms[0];
}

static double halves(const struct sum_plan* plan, double* terms, int64_t n) {
  for (; n > 1; n /= 2) {
    for (int64_t i = 0; i < n / 2; ++i) terms[i] = plan_add(plan, terms[i], terms[i + n / 2]);
  }
  return terms[0];
}

/* As matrix units do: all addends cut at a unit of the largest one, one bit below binary32's. */
static double block(double sum, const double* a, const double* b, int64_t n) {
  int largest = -140;
  int exponent = 0;
  for (int64_t i = -1; i < n; ++i) {
    const double addend = i < 0 ? sum : a[i] * b[i];
    if (addend == 0) continue;
    frexp(addend, &exponent);
    if (exponent > largest) largest = exponent;
  }
  const double unit = ldexp(1, largest - 25);
  double total = trunc(sum / unit);
  for (int64_t i = 0; i < n; ++i) total += trunc(a[i] * b[i] / unit);
  return truncated(total * unit);
}

double plan_sum(const struct sum_plan* plan, double sum, const double* a, const double* b,
                int64_t n, double* terms) {
  if (plan->inner == INNER_BLOCK) {
    for (int64_t i = 0; i < n; i += plan->width) {
      sum = block(sum, a + i, b + i, i + plan->width < n ? plan->width : n - i);
    }
    return sum;
  }
  const bool pairwise = plan->inner == INNER_PAIRWISE;
  for (int64_t i = 0; i < n; ++i) {
    terms[i] = plan->fused && !pairwise ? a[i] * b[i] : plan_round(plan, a[i] * b[i]);
  }
  if (plan->inner == INNER_SEQUENTIAL) {
    for (int64_t i = 0; i < n; ++i) sum = plan_add(plan, sum, terms[i]);
    return sum;
  }
  if (pairwise) return plan_add(plan, sum, pairs(plan, terms, n));
  const int64_t width = plan->inner == INNER_TILE_SUM ? 1 : plan->width;
  /* From zero: a fused product is rounded there. */
  for (int64_t i = 0; i < n; ++i) {
    const double before = i < width ? 0 : terms[i % width];
    terms[i % width] = plan_add(plan, before, terms[i]);
  }
  const int64_t lanes = width < n ? width : n;
  return plan_add(plan, sum, plan->halves ? halves(plan, terms, lanes) : pairs(plan, terms, lanes));
}
