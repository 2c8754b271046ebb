/* Elements of the ABI's tensors as doubles, and rounding to their types. */
#ifndef GQA_TEST_KERNELS_ELEMENTS_H
#define GQA_TEST_KERNELS_ELEMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "gqa/kernel/abi.h"

/* The element at data[index]; integers and booleans as numbers. */
double load_element(const struct gqa_kernel_tensor* tensor, int64_t index);

/* The nearest number of the type, ties to even; beyond the largest: infinity (e4m3fn: NaN). */
double round_to_type(int32_t type, double value);

/* Stores round_to_type(value) at data[index]. */
void store_element(const struct gqa_kernel_tensor* tensor, int64_t index, double value);

/* data index of element [a, b, c, d] of a tensor of rank 4. */
static inline int64_t index_of(const struct gqa_kernel_tensor* t, int64_t a, int64_t b, int64_t c,
                               int64_t d) {
  return a * t->strides[0] + b * t->strides[1] + c * t->strides[2] + d * t->strides[3];
}

/* Arithmetic is done in binary64 if the output is, else in binary32: a result of +, -, *, /
 * computed in double and rounded to float is the correctly rounded float. */
static inline double working(bool wide, double value) {
  return wide ? value : (double)(float)value;
}

#endif
