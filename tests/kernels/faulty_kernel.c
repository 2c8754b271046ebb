/* A kernel with a switch for every fault of the catalogue, set by gqa_kernel_configure as a
 * comma-separated list ("head_map.tiled,scale.twice"); without any it is right. */
#include <stdlib.h>

#include "faulty.h"

/* Room for the rows of one head. */
struct workspace {
  struct row* rows;
  double* scores;
  unsigned char* states;
  unsigned char* one_hand;
  double* scratch; /* [keys + dv] for attend_row, then [dv] of output */
};

static bool make_workspace(const struct setup* k, struct workspace* w) {
  const size_t rows = (size_t)k->queries + 1;
  const size_t keys = (size_t)(k->keys * key_repeats(k)) + 1;
  const size_t columns = (size_t)k->p->value_size;
  w->rows = malloc(rows * sizeof *w->rows);
  w->scores = malloc(rows * keys * sizeof *w->scores);
  w->states = malloc(rows * keys);
  w->one_hand = malloc(rows * keys);
  w->scratch = malloc((keys + 2 * columns) * sizeof *w->scratch);
  return w->rows != NULL && w->scores != NULL && w->states != NULL && w->one_hand != NULL &&
         w->scratch != NULL;
}

static void free_workspace(struct workspace* w) {
  free(w->rows);
  free(w->scores);
  free(w->states);
  free(w->one_hand);
  free(w->scratch);
}

/* layout.head_size_fixed: the largest power of two below dv, or dv without the fault. */
static int64_t written_columns(int64_t value_size) {
  if (!has(fault_layout_head_size) || value_size < 2) return value_size;
  int64_t columns = 1;
  while (2 * columns < value_size) columns *= 2;
  return columns;
}

static void write_row(const struct setup* k, const struct row* r, const double* output) {
  const int64_t written = written_columns(k->p->value_size);
  const int64_t row = r->s->query_begin + r->index;
  for (int64_t c = 0; c < k->p->value_size; ++c) {
    const int64_t index = index_of(&k->output, r->s->batch, r->head, row, c);
    store_element(&k->output, index, c < written ? output[c] : 0);
  }
}

static void attend_head(const struct setup* k, const struct segment* s, int64_t head,
                        const struct workspace* w) {
  double* output = w->scratch + s->keys + k->p->value_size;
  for (int64_t i = 0; i < s->queries; ++i) {
    struct row* r = &w->rows[i];
    *r = (struct row){.k = k, .s = s, .head = head, .index = i};
    r->key_head = key_head_of(k, head);
    r->value_head = value_head_of(k, head);
    r->scores = w->scores + i * s->keys;
    r->states = w->states + i * s->keys;
    r->one_hand = w->one_hand + i * s->keys;
    score_row(r);
  }
  for (int64_t i = 0; i < s->queries; ++i) {
    attend_row(w->rows, i, w->scratch, output);
    write_row(k, &w->rows[i], output);
  }
}

int gqa_kernel_run(const struct gqa_kernel_problem* p) {
  const int known = check_problem(p);
  if (known != GQA_KERNEL_OK) return known;
  struct setup k;
  struct workspace w = {0};
  int result = 2;
  if (make_setup(p, &k) && make_workspace(&k, &w)) {
    for (int64_t n = 0; n < faulty_segment_count(&k); ++n) {
      const struct segment s = faulty_segment(&k, n);
      for (int64_t h = 0; h < k.q_heads; ++h) attend_head(&k, &s, h, &w);
    }
    result = GQA_KERNEL_OK;
  }
  free_workspace(&w);
  free_setup(&k);
  return result;
}

int gqa_kernel_capabilities(struct gqa_kernel_info* info) {
  return describe_kernel(info, "faulty on demand");
}

int gqa_kernel_configure(const char* options) {
  return set_faults(options) ? GQA_KERNEL_OK : 2;
}
