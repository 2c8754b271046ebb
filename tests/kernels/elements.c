#include "elements.h"

#include <math.h>
#include <string.h>

/* The formats of at most 16 bits. */
struct small_format {
  int exponent_bits;
  int fraction_bits;
  bool has_infinity;
};

static const struct small_format* small_format(int32_t type) {
  static const struct small_format binary16 = {5, 10, true};
  static const struct small_format bfloat16 = {8, 7, true};
  static const struct small_format e4m3fn = {4, 3, false};
  static const struct small_format e5m2 = {5, 2, true};
  switch (type) {
    case GQA_ELEMENT_BINARY16:
      return &binary16;
    case GQA_ELEMENT_BFLOAT16:
      return &bfloat16;
    case GQA_ELEMENT_FLOAT8_E4M3FN:
      return &e4m3fn;
    case GQA_ELEMENT_FLOAT8_E5M2:
      return &e5m2;
    default:
      return NULL;
  }
}

static int bias_of(const struct small_format* f) {
  return (1 << (f->exponent_bits - 1)) - 1;
}

static double decode_small(const struct small_format* f, unsigned bits) {
  const unsigned fraction = bits & ((1U << f->fraction_bits) - 1);
  const unsigned all_ones = (1U << f->exponent_bits) - 1;
  const unsigned exponent = (bits >> f->fraction_bits) & all_ones;
  const double sign = (bits >> (f->fraction_bits + f->exponent_bits) & 1U) != 0 ? -1 : 1;
  if (exponent == all_ones && f->has_infinity) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == all_ones && fraction == (1U << f->fraction_bits) - 1) return NAN;
  const int scale = (exponent == 0 ? 1 : (int)exponent) - bias_of(f) - f->fraction_bits;
  const unsigned significand = exponent == 0 ? fraction : fraction | (1U << f->fraction_bits);
  return sign * ldexp((double)significand, scale);
}

static double largest_small(const struct small_format* f) {
  const int top = (1 << f->exponent_bits) - 1 - bias_of(f) - (f->has_infinity ? 1 : 0);
  const double unit = ldexp(1, top - f->fraction_bits);
  const double significands = ldexp(1, f->fraction_bits + 1) - (f->has_infinity ? 1 : 2);
  return significands * unit;
}

static double round_small(const struct small_format* f, double value) {
  if (!isfinite(value)) return isinf(value) && !f->has_infinity ? NAN : value;
  if (value == 0) return value;
  int exponent = 0;
  frexp(value, &exponent); /* |value| in [2^(exponent-1), 2^exponent) */
  const int smallest = 1 - bias_of(f);
  const int unit = (exponent - 1 < smallest ? smallest : exponent - 1) - f->fraction_bits;
  const double rounded = ldexp(nearbyint(ldexp(value, -unit)), unit);
  if (fabs(rounded) <= largest_small(f)) return rounded;
  return f->has_infinity ? copysign(INFINITY, value) : NAN;
}

/* The bits of a number of the format. */
static unsigned encode_small(const struct small_format* f, double value) {
  const unsigned sign = signbit(value) ? 1U << (f->fraction_bits + f->exponent_bits) : 0;
  const unsigned all_ones = ((1U << f->exponent_bits) - 1) << f->fraction_bits;
  if (isnan(value)) return all_ones | ((1U << f->fraction_bits) - 1);
  if (isinf(value)) return sign | all_ones;
  if (value == 0) return sign;
  int exponent = 0;
  frexp(value, &exponent);
  const int smallest = 1 - bias_of(f);
  const int binade = exponent - 1 < smallest ? smallest : exponent - 1;
  const unsigned significand = (unsigned)ldexp(fabs(value), f->fraction_bits - binade);
  /* The implicit bit adds one to the biased exponent of a normal number. */
  return sign | (((unsigned)(binade - smallest) << f->fraction_bits) + significand);
}

double round_to_type(int32_t type, double value) {
  if (type == GQA_ELEMENT_BINARY64) return value;
  if (type == GQA_ELEMENT_BINARY32) return (double)(float)value;
  return round_small(small_format(type), value);
}

double load_element(const struct gqa_kernel_tensor* tensor, int64_t index) {
  switch (tensor->type) {
    case GQA_ELEMENT_BINARY64:
      return ((const double*)tensor->data)[index];
    case GQA_ELEMENT_BINARY32:
      return (double)((const float*)tensor->data)[index];
    case GQA_ELEMENT_BINARY16:
    case GQA_ELEMENT_BFLOAT16:
      return decode_small(small_format(tensor->type), ((const uint16_t*)tensor->data)[index]);
    case GQA_ELEMENT_INT8:
      return (double)((const int8_t*)tensor->data)[index];
    case GQA_ELEMENT_BOOLEAN:
    case GQA_ELEMENT_UINT8:
      return (double)((const uint8_t*)tensor->data)[index];
    case GQA_ELEMENT_INT32:
      return (double)((const int32_t*)tensor->data)[index];
    case GQA_ELEMENT_INT64:
      return (double)((const int64_t*)tensor->data)[index];
    default:
      return decode_small(small_format(tensor->type), ((const uint8_t*)tensor->data)[index]);
  }
}

void store_element(const struct gqa_kernel_tensor* tensor, int64_t index, double value) {
  const double rounded = round_to_type(tensor->type, value);
  switch (tensor->type) {
    case GQA_ELEMENT_BINARY64:
      ((double*)tensor->data)[index] = rounded;
      break;
    case GQA_ELEMENT_BINARY32:
      ((float*)tensor->data)[index] = (float)rounded;
      break;
    case GQA_ELEMENT_BINARY16:
    case GQA_ELEMENT_BFLOAT16:
      ((uint16_t*)tensor->data)[index] =
          (uint16_t)encode_small(small_format(tensor->type), rounded);
      break;
    default:
      ((uint8_t*)tensor->data)[index] = (uint8_t)encode_small(small_format(tensor->type), rounded);
  }
}
