/* Sums in stated orders and formats, for kernels whose arithmetic is known. */
#ifndef GQA_TEST_KERNELS_ARITHMETIC_SUMS_H
#define GQA_TEST_KERNELS_ARITHMETIC_SUMS_H

#include <stdbool.h>
#include <stdint.h>

enum arithmetic_format {
  FORMAT_F32,
  FORMAT_TF32,
  FORMAT_F16,
  FORMAT_BF16,
  FORMAT_E4M3,
  FORMAT_E5M2
};

/* The nearest number, ties to even; 8-bit formats saturate. */
double round_as(enum arithmetic_format format, double value);

enum inner_order { INNER_SEQUENTIAL, INNER_TILE_SUM, INNER_PAIRWISE, INNER_LANES, INNER_BLOCK };

struct sum_plan {
  enum inner_order inner;
  int width;                     /* of lanes and blocks */
  bool halves;                   /* lanes l and l + width/2 are added first, not l and l + 1 */
  enum arithmetic_format format; /* FORMAT_F32 or FORMAT_F16 */
  bool truncates;
  bool fused; /* products are not rounded before they are added */
};

/* Rounded as the plan's accumulator does. */
double plan_round(const struct sum_plan* plan, double value);
double plan_add(const struct sum_plan* plan, double a, double b);
/* sum + a[0] b[0] + ... in the plan's order. `terms`: space for n numbers. */
double plan_sum(const struct sum_plan* plan, double sum, const double* a, const double* b,
                int64_t n, double* terms);

#endif
