/* Grouped-query attention as it is defined: one row after the other, three loops each. */
#include <math.h>
#include <stdlib.h>

#include "elements.h"
#include "rules.h"

/* One query row; `scores` has room for all keys. */
struct row {
  const struct gqa_kernel_problem* p;
  struct segment segment;
  int64_t head;
  int64_t kv_head;
  int64_t index;
  bool wide;
  double* scores; /* minus infinity: not visible */
};

static double key_element(const struct row* r, int64_t j, int64_t t) {
  const struct segment* s = &r->segment;
  const struct gqa_kernel_problem* p = r->p;
  if (j < s->past) {
    return load_element(p->past_key, index_of(p->past_key, s->batch, r->kv_head, j, t));
  }
  const int64_t row = s->key_begin + j - s->past;
  return load_element(p->key, index_of(p->key, s->batch, r->kv_head, row, t));
}

static double value_element(const struct row* r, int64_t j, int64_t c) {
  const struct segment* s = &r->segment;
  const struct gqa_kernel_problem* p = r->p;
  if (j < s->past) {
    return load_element(p->past_value, index_of(p->past_value, s->batch, r->kv_head, j, c));
  }
  const int64_t row = s->key_begin + j - s->past;
  return load_element(p->value, index_of(p->value, s->batch, r->kv_head, row, c));
}

static double score_of(const struct row* r, int64_t j) {
  const struct gqa_kernel_problem* p = r->p;
  const struct segment* s = &r->segment;
  const int64_t position = r->index + s->offset;
  double bias = 0;
  if (j >= s->length || !causal_allows(p, position, j) || !window_allows(p, position, j) ||
      !mask_allows(p, s->batch, r->head, r->index, j, &bias)) {
    return -INFINITY;
  }
  double score = 0;
  const int64_t row = s->query_begin + r->index;
  for (int64_t t = 0; t < p->key_size; ++t) {
    const double q = load_element(p->query, index_of(p->query, s->batch, r->head, row, t));
    score = working(r->wide, score + working(r->wide, q * key_element(r, j, t)));
  }
  score = working(r->wide, score * working(r->wide, scale_of(p)));
  if (p->softcap > 0) score = working(r->wide, p->softcap * tanh(score / p->softcap));
  score = working(r->wide, score + bias);
  const double distance = fabs((double)(position - j));
  return working(r->wide, score - working(r->wide, slope_of(p, s->slopes, r->head) * distance));
}

static double empty_element(const struct row* r, int64_t c) {
  if (r->p->empty_row == GQA_EMPTY_ROW_NAN) return NAN;
  if (r->p->empty_row != GQA_EMPTY_ROW_MEAN || r->segment.keys == 0) return 0;
  double sum = 0;
  for (int64_t j = 0; j < r->segment.keys; ++j) {
    sum = working(r->wide, sum + value_element(r, j, c));
  }
  return sum / (double)r->segment.keys;
}

static void attend(const struct row* r) {
  const struct gqa_kernel_problem* p = r->p;
  double largest = -INFINITY;
  bool is_empty = true;
  for (int64_t j = 0; j < r->segment.keys; ++j) {
    r->scores[j] = score_of(r, j);
    is_empty = is_empty && r->scores[j] == -INFINITY;
    largest = fmax(largest, r->scores[j]);
  }
  double sink = 0;
  const bool has_sink = sink_of(p, r->head, &sink);
  if (has_sink) largest = fmax(largest, sink);
  double sum = has_sink ? working(r->wide, exp(sink - largest)) : 0;
  for (int64_t j = 0; j < r->segment.keys && !is_empty; ++j) {
    r->scores[j] = working(r->wide, exp(working(r->wide, r->scores[j] - largest)));
    sum = working(r->wide, sum + r->scores[j]);
  }
  const int64_t row = r->segment.query_begin + r->index;
  for (int64_t c = 0; c < p->value_size; ++c) {
    double output = 0;
    for (int64_t j = 0; j < r->segment.keys && !is_empty; ++j) {
      if (r->scores[j] == 0) continue; /* what is not seen is not read */
      const double term = working(r->wide, r->scores[j] * value_element(r, j, c));
      output = working(r->wide, output + term);
    }
    output = is_empty ? (has_sink ? 0 : empty_element(r, c)) : output / sum;
    store_element(p->output, index_of(p->output, r->segment.batch, r->head, row, c), output);
  }
}

int gqa_kernel_run(const struct gqa_kernel_problem* p) {
  const int known = check_problem(p);
  if (known != GQA_KERNEL_OK) return known;
  struct row r = {.p = p, .wide = p->output->type == GQA_ELEMENT_BINARY64};
  const int64_t keys = p->past + p->keys;
  r.scores = malloc((size_t)(keys + 1) * sizeof *r.scores);
  if (r.scores == NULL) return 2;
  for (int64_t n = 0; n < segment_count(p); ++n) {
    r.segment = segment_at(p, n);
    for (r.head = 0; r.head < p->q_heads; ++r.head) {
      r.kv_head = kv_head_of(p, r.head);
      for (r.index = 0; r.index < r.segment.queries; ++r.index) attend(&r);
    }
  }
  free(r.scores);
  return GQA_KERNEL_OK;
}

int gqa_kernel_capabilities(struct gqa_kernel_info* info) {
  return describe_kernel(info, "plain");
}
