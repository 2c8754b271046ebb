/* Blocked attention with an online softmax, the keys split in two halves whose partial results
 * are merged at the end, as flash-decoding does. */
#include <math.h>
#include <stdlib.h>

#include "elements.h"
#include "rules.h"

enum { block_keys = 16 };

/* What has been seen of the keys of one row: exp(score - largest) summed, and times values. */
struct partial {
  double largest; /* minus infinity: no key yet */
  double sum;
  double* values; /* [dv] */
};

struct row {
  const struct gqa_kernel_problem* p;
  struct segment segment;
  int64_t head;
  int64_t kv_head;
  int64_t index;
  double position;
  bool wide;
};

/* The row of key or value j: a tensor and the index of its first element. */
static const struct gqa_kernel_tensor* row_of(const struct row* r,
                                              const struct gqa_kernel_tensor* past,
                                              const struct gqa_kernel_tensor* current, int64_t j,
                                              int64_t* first) {
  const struct segment* s = &r->segment;
  const struct gqa_kernel_tensor* tensor = j < s->past ? past : current;
  const int64_t row = j < s->past ? j : s->key_begin + j - s->past;
  *first = index_of(tensor, s->batch, r->kv_head, row, 0);
  return tensor;
}

static bool is_visible(const struct row* r, int64_t j, double* bias) {
  const int64_t position = r->index + r->segment.offset;
  return j < r->segment.length && causal_allows(r->p, position, j) &&
         window_allows(r->p, position, j) &&
         mask_allows(r->p, r->segment.batch, r->head, r->index, j, bias);
}

static double score_of(const struct row* r, int64_t j, double bias) {
  const struct gqa_kernel_problem* p = r->p;
  int64_t first = 0;
  const struct gqa_kernel_tensor* key = row_of(r, p->past_key, p->key, j, &first);
  const int64_t query =
      index_of(p->query, r->segment.batch, r->head, r->segment.query_begin + r->index, 0);
  double dot = 0;
  for (int64_t t = 0; t < p->key_size; ++t) {
    const double product = load_element(p->query, query + t * p->query->strides[3]) *
                           load_element(key, first + t * key->strides[3]);
    dot = working(r->wide, dot + working(r->wide, product));
  }
  double score = working(r->wide, dot * working(r->wide, scale_of(p)));
  if (p->softcap > 0) score = working(r->wide, p->softcap * tanh(score / p->softcap));
  const double slope = slope_of(p, r->segment.slopes, r->head);
  bias = working(r->wide, bias - slope * fabs(r->position - (double)j));
  return working(r->wide, score + bias);
}

/* Brings the sums to a new largest score. */
static void rescale(const struct row* r, struct partial* partial, double largest) {
  if (largest <= partial->largest) return;
  const double factor =
      partial->largest == -INFINITY ? 0 : working(r->wide, exp(partial->largest - largest));
  partial->sum = working(r->wide, partial->sum * factor);
  for (int64_t c = 0; c < r->p->value_size; ++c) {
    partial->values[c] = working(r->wide, partial->values[c] * factor);
  }
  partial->largest = largest;
}

static void add_block(const struct row* r, int64_t begin, int64_t end, struct partial* partial) {
  double scores[block_keys];
  double largest = -INFINITY;
  for (int64_t j = begin; j < end; ++j) {
    double bias = 0;
    scores[j - begin] = is_visible(r, j, &bias) ? score_of(r, j, bias) : -INFINITY;
    largest = fmax(largest, scores[j - begin]);
  }
  rescale(r, partial, largest);
  for (int64_t j = begin; j < end; ++j) {
    if (scores[j - begin] == -INFINITY) continue;
    const double weight = working(r->wide, exp(scores[j - begin] - partial->largest));
    partial->sum = working(r->wide, partial->sum + weight);
    int64_t first = 0;
    const struct gqa_kernel_tensor* value = row_of(r, r->p->past_value, r->p->value, j, &first);
    for (int64_t c = 0; c < r->p->value_size; ++c) {
      const double term = weight * load_element(value, first + c * value->strides[3]);
      partial->values[c] = working(r->wide, partial->values[c] + working(r->wide, term));
    }
  }
}

static void add_keys(const struct row* r, int64_t begin, int64_t end, struct partial* partial) {
  partial->largest = -INFINITY;
  partial->sum = 0;
  for (int64_t c = 0; c < r->p->value_size; ++c) partial->values[c] = 0;
  for (int64_t j = begin; j < end; j += block_keys) {
    add_block(r, j, j + block_keys < end ? j + block_keys : end, partial);
  }
}

static void merge(const struct row* r, struct partial* into, struct partial* other) {
  const double largest = fmax(into->largest, other->largest);
  rescale(r, into, largest);
  rescale(r, other, largest);
  into->sum = working(r->wide, into->sum + other->sum);
  for (int64_t c = 0; c < r->p->value_size; ++c) {
    into->values[c] = working(r->wide, into->values[c] + other->values[c]);
  }
}

static double mean_of_values(const struct row* r, int64_t c) {
  double sum = 0;
  for (int64_t j = 0; j < r->segment.keys; ++j) {
    int64_t first = 0;
    const struct gqa_kernel_tensor* value = row_of(r, r->p->past_value, r->p->value, j, &first);
    sum = working(r->wide, sum + load_element(value, first + c * value->strides[3]));
  }
  return r->segment.keys == 0 ? 0 : sum / (double)r->segment.keys;
}

static void attend(const struct row* r, struct partial halves[2]) {
  const struct gqa_kernel_problem* p = r->p;
  const int64_t middle = r->segment.keys / 2;
  add_keys(r, 0, middle, &halves[0]);
  add_keys(r, middle, r->segment.keys, &halves[1]);
  merge(r, &halves[0], &halves[1]);
  const bool is_empty = halves[0].largest == -INFINITY;
  double sink = 0;
  const bool has_sink = sink_of(p, r->head, &sink);
  if (has_sink) {
    rescale(r, &halves[0], sink);
    halves[0].sum = working(r->wide, halves[0].sum + exp(sink - halves[0].largest));
  }
  const int64_t row = r->segment.query_begin + r->index;
  for (int64_t c = 0; c < p->value_size; ++c) {
    double output = halves[0].values[c] / halves[0].sum;
    if (is_empty) output = 0;
    if (is_empty && !has_sink && p->empty_row == GQA_EMPTY_ROW_NAN) output = NAN;
    if (is_empty && !has_sink && p->empty_row == GQA_EMPTY_ROW_MEAN) output = mean_of_values(r, c);
    store_element(p->output, index_of(p->output, r->segment.batch, r->head, row, c), output);
  }
}

int gqa_kernel_run(const struct gqa_kernel_problem* p) {
  const int known = check_problem(p);
  if (known != GQA_KERNEL_OK) return known;
  struct partial halves[2];
  halves[0].values = malloc(2 * (size_t)p->value_size * sizeof(double));
  if (halves[0].values == NULL) return 2;
  halves[1].values = halves[0].values + p->value_size;
  struct row r = {.p = p, .wide = p->output->type == GQA_ELEMENT_BINARY64};
  for (int64_t n = 0; n < segment_count(p); ++n) {
    r.segment = segment_at(p, n);
    for (r.head = 0; r.head < p->q_heads; ++r.head) {
      r.kv_head = kv_head_of(p, r.head);
      for (r.index = 0; r.index < r.segment.queries; ++r.index) {
        r.position = (double)(r.index + r.segment.offset);
        attend(&r, halves);
      }
    }
  }
  free(halves[0].values);
  return GQA_KERNEL_OK;
}

int gqa_kernel_capabilities(struct gqa_kernel_info* info) {
  return describe_kernel(info, "online softmax, keys split in two");
}
