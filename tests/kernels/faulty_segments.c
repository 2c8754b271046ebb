/* Batch entries and documents of the faulty kernel, and the elements in them. */
#include <math.h>
#include <stddef.h>

#include "faulty.h"

int64_t faulty_segment_count(const struct setup* k) {
  const bool mixed = has(fault_length_documents) && k->p->cu_seqlens_q != NULL;
  return mixed ? 1 : segment_count(k->p);
}

static int64_t max(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* P if there is a past, L - T with lengths, otherwise 0. */
static int64_t onnx_offset(const struct setup* k, const struct segment* s) {
  if (s->past > 0) return s->past;
  return k->p->nonpad_kv_seqlen != NULL ? s->length - s->queries : 0;
}

static int64_t offset_of(const struct setup* k, const struct segment* s) {
  int32_t alignment = k->p->causal_alignment;
  if (has(fault_causal_top_left) && k->p->causal != 0) alignment = GQA_CAUSAL_TOP_LEFT;
  if (has(fault_causal_bottom_right) && k->p->causal != 0) alignment = GQA_CAUSAL_BOTTOM_RIGHT;
  int64_t offset = 0;
  if (alignment == GQA_CAUSAL_BOTTOM_RIGHT) offset = s->length - s->queries;
  if (alignment == GQA_CAUSAL_ONNX) offset = onnx_offset(k, s);
  if (has(fault_causal_ignores_past)) offset -= s->past;
  return has(fault_causal_clamped) ? max(0, offset) : offset;
}

/* Lengths first, then the repetition of keys, then the offset, which needs both. */
struct segment faulty_segment(const struct setup* k, int64_t n) {
  struct segment s = segment_at(k->p, n);
  const bool mixed = has(fault_length_documents) && k->p->cu_seqlens_q != NULL;
  if (k->axes_swapped || mixed) {
    s.query_begin = 0;
    s.key_begin = 0;
    s.queries = k->queries;
    s.keys = k->keys;
    s.length = mixed || s.length > s.keys ? s.keys : s.length;
  }
  if (has(fault_length_past_dropped) && s.past > 0) {
    s.keys -= s.past;
    s.past = 0;
    s.length = s.keys;
  }
  if (k->p->nonpad_kv_seqlen == NULL) s.length = s.keys;
  if (has(fault_length_capacity)) s.length = s.keys;
  if (has(fault_length_short)) s.length = max(0, s.length - 1);
  s.keys *= key_repeats(k);
  s.length *= key_repeats(k);
  s.offset = offset_of(k, &s);
  return s;
}

static double element(const struct gqa_kernel_tensor* t, int64_t b, int64_t h, int64_t s,
                      int64_t d) {
  const int64_t index = index_of(t, b, h, s, d);
  return index < t->elements ? load_element(t, index) : 0;
}

double query_element(const struct setup* k, const struct segment* s, int64_t h, int64_t i,
                     int64_t t) {
  const struct head_source source = k->query_heads[h];
  return element(source.tensor, s->batch, source.head, s->query_begin + i, t);
}

/* length.history_zeros: what came before the newest T keys was never written. */
static bool reads_zero(const struct segment* s, int64_t j) {
  return has(fault_length_history) && j < s->length - s->queries;
}

double key_element(const struct setup* k, const struct segment* s, int64_t kv, int64_t j,
                   int64_t t) {
  if (reads_zero(s, j)) return 0;
  j /= key_repeats(k);
  if (j < s->past) return element(&k->past_key, s->batch, kv, j, t);
  const struct head_source source = k->key_heads[kv];
  return element(source.tensor, s->batch, source.head, s->key_begin + j - s->past, t);
}

double value_element(const struct setup* k, const struct segment* s, int64_t kv, int64_t j,
                     int64_t c) {
  if (reads_zero(s, j)) return 0;
  j /= key_repeats(k);
  if (j < s->past) return element(&k->past_value, s->batch, kv, j, c);
  const struct head_source source = k->value_heads[kv];
  return element(source.tensor, s->batch, source.head, s->key_begin + j - s->past, c);
}

bool faulty_sink(const struct setup* k, int64_t head, double* logit) {
  if (has(fault_sink_dropped) || head >= k->p->q_heads) return false;
  return sink_of(k->p, head, logit);
}
