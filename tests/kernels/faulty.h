/* The parts of the faulty kernel: the right pipeline, with every fault as one changed place. */
#ifndef GQA_TEST_KERNELS_FAULTY_H
#define GQA_TEST_KERNELS_FAULTY_H

#include "elements.h"
#include "faults.h"
#include "rules.h"

/* Which tensor and head the rows of a head are read from. */
struct head_source {
  const struct gqa_kernel_tensor* tensor;
  int64_t head;
};

/* A problem as the kernel, with its layout faults, believes it to be. */
struct setup {
  const struct gqa_kernel_problem* p;
  bool wide; /* arithmetic in binary64 */
  int64_t q_heads;
  int64_t kv_heads;
  int64_t queries; /* T, keys S + P of one batch entry */
  int64_t keys;
  bool axes_swapped; /* layout.bshd_as_bhsd: heads are positions */
  struct gqa_kernel_tensor query, key, value, past_key, past_value, output;
  struct head_source* query_heads; /* [q_heads] */
  struct head_source* key_heads;   /* [kv_heads] */
  struct head_source* value_heads; /* [kv_heads] */
  double scale;
  double weight_scale;
};

/* False if memory ran out. */
bool make_setup(const struct gqa_kernel_problem* p, struct setup* setup);
void free_setup(struct setup* setup);

int64_t faulty_segment_count(const struct setup* setup);
struct segment faulty_segment(const struct setup* setup, int64_t n);

/* Elements as the faults have them; beyond the end of a buffer: 0. */
double query_element(const struct setup* k, const struct segment* s, int64_t h, int64_t i,
                     int64_t t);
double key_element(const struct setup* k, const struct segment* s, int64_t kv, int64_t j,
                   int64_t t);
double value_element(const struct setup* k, const struct segment* s, int64_t kv, int64_t j,
                     int64_t c);

int64_t key_head_of(const struct setup* k, int64_t head);
int64_t value_head_of(const struct setup* k, int64_t head);
/* 1 if the keys are not repeated along their axis, otherwise G. */
int64_t key_repeats(const struct setup* k);
bool faulty_sink(const struct setup* k, int64_t head, double* logit);

enum key_state {
  key_hidden,
  key_visible,
  key_weightless /* seen, but its score became minus infinity */
};

/* One row of scores. */
struct row {
  const struct setup* k;
  const struct segment* s;
  int64_t head;
  int64_t index;
  int64_t key_head;
  int64_t value_head;
  bool is_nan;             /* some step made the whole row NaN */
  double* scores;          /* [keys] where visible */
  unsigned char* states;   /* [keys] enum key_state */
  unsigned char* one_hand; /* [keys] 1: below the length and hidden by exactly one of
                              {causal or window, mask} */
};

/* Fills scores, states and is_nan. */
void score_row(struct row* r);

/* Softmax and sum of values of rows[index]; `rows` are all rows of the head. `output`: [dv];
 * `scratch`: [keys + 2 dv]. */
void attend_row(const struct row* rows, int64_t index, double* scratch, double* output);

#endif
