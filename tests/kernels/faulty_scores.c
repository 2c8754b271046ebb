/* Scores and visible keys of the faulty kernel. */
#include <math.h>
#include <stddef.h>

#include "faulty.h"

enum { first_block_keys = 2 };

/* What the rules say of one key. */
struct rules {
  bool length;
  bool causal;
  bool window;
  bool mask;
  double bias;     /* of a floating-point mask, or of a boolean one that is added */
  bool zero_score; /* mask.zero_fill */
};

static bool causal_rule(const struct row* r, int64_t j) {
  const struct gqa_kernel_problem* p = r->k->p;
  bool applies = p->causal != 0 || has(fault_causal_undeclared);
  if (has(fault_causal_missing)) applies = false;
  if (has(fault_causal_only_square) && r->s->queries != r->s->keys) applies = false;
  const int64_t group = r->k->q_heads / r->k->kv_heads;
  const int64_t row = has(fault_causal_row_over_group) && group > 0 ? r->index / group : r->index;
  return !applies || j <= row + r->s->offset;
}

static bool window_rule(const struct row* r, int64_t j) {
  int64_t left = r->k->p->window_left;
  const int64_t right = r->k->p->window_right;
  if (has(fault_window_ignored)) return true;
  if (has(fault_window_narrow) && left >= 1) --left;
  if (has(fault_window_ring_start) && left >= 1 && r->s->queries == 1) --left;
  if (has(fault_window_wide) && r->k->p->window_left >= 0) ++left;
  const int64_t distance = j - (r->index + r->s->offset); /* positive: ahead of the query */
  return (left < 0 || -distance <= left) && (right < 0 || distance <= right);
}

/* Entries that a short last axis leaves out count as false, or minus infinity. */
static void mask_rule(const struct row* r, int64_t j, struct rules* rules) {
  const struct gqa_kernel_problem* p = r->k->p;
  const struct gqa_kernel_tensor* mask = p->attn_mask;
  rules->mask = true;
  if (mask == NULL || has(fault_mask_ignored)) return;
  int64_t head = r->head;
  const bool per_head = mask->rank >= 3 && mask->shape[mask->rank - 3] > 1;
  if (has(fault_mask_kv_head) && per_head) head /= r->k->q_heads / r->k->kv_heads;
  rules->mask = mask_allows(p, r->s->batch, head, r->index, j, &rules->bias);
  if (mask->type == GQA_ELEMENT_BOOLEAN) {
    if (has(fault_mask_inverted)) rules->mask = !rules->mask;
    if (has(fault_mask_added)) {
      rules->bias = rules->mask ? 1 : 0;
      rules->mask = true;
    }
  }
  if (has(fault_mask_zero_fill) && !rules->mask) {
    rules->zero_score = true;
    rules->mask = true;
  }
}

static struct rules rules_of(const struct row* r, int64_t j) {
  struct rules rules = {0};
  rules.length = j < r->s->length;
  rules.causal = causal_rule(r, j);
  rules.window = window_rule(r, j);
  if (has(fault_window_first_block) && j < first_block_keys) {
    rules.causal = true;
    rules.window = true;
  }
  mask_rule(r, j, &rules);
  return rules;
}

static double alibi_bias(const struct row* r, int64_t j) {
  const struct gqa_kernel_problem* p = r->k->p;
  if (p->alibi_slopes == NULL || r->head >= p->q_heads || has(fault_bias_missing)) return 0;
  const double heads = (double)p->q_heads;
  double slope = slope_of(p, r->s->slopes, r->head);
  const bool power_of_two = (p->q_heads & (p->q_heads - 1)) == 0;
  if (has(fault_bias_power_of_two) && !power_of_two) {
    slope = exp2(-8 * (double)(r->head + 1) / heads);
  }
  if (has(fault_bias_exponent)) slope *= exp2(8 / heads);
  slope = working(r->k->wide, slope);
  return -working(r->k->wide, slope * fabs((double)(r->index + r->s->offset - j)));
}

/* <query, key>; softmax.dot_overflow: partial sums beyond binary16 become infinite. */
static double dot(const struct row* r, int64_t j) {
  double sum = 0;
  for (int64_t t = 0; t < r->k->p->key_size; ++t) {
    const double product = query_element(r->k, r->s, r->head, r->index, t) *
                           key_element(r->k, r->s, r->key_head, j, t);
    sum = working(r->k->wide, sum + working(r->k->wide, product));
    if (has(fault_softmax_dot_overflow) && fabs(sum) >= 65520) sum = copysign(INFINITY, sum);
  }
  return sum;
}

/* Scale, softcap and bias of a visible key, in this order, or as the softcap's faults have it. */
static double finished_score(struct row* r, int64_t j, double score, const struct rules* rules) {
  const bool wide = r->k->wide;
  const double cap = r->k->p->softcap;
  score = working(wide, score * r->k->scale);
  const double bias = working(wide, rules->bias + alibi_bias(r, j));
  if (rules->zero_score) return 0;
  if (cap > 0 && has(fault_softcap_overflow) && fabs(score / cap) > 88.7228) r->is_nan = true;
  if (cap > 0 && has(fault_softcap_product)) {
    const double argument = working(wide, score / cap);
    return working(wide, working(wide, argument * tanh(argument)) + bias);
  }
  if (cap > 0 && has(fault_softcap_after_mask)) {
    return working(wide, cap * tanh(working(wide, score + bias) / cap));
  }
  if (cap > 0 && !has(fault_softcap_missing)) score = working(wide, cap * tanh(score / cap));
  return working(wide, score + bias);
}

static void score_key(struct row* r, int64_t j) {
  const struct rules rules = rules_of(r, j);
  const bool placed = rules.causal && rules.window;
  const bool allowed = rules.length && placed && rules.mask;
  r->one_hand[j] = rules.length && placed != rules.mask;
  r->states[j] = allowed ? key_visible : key_hidden;
  const int64_t group = r->k->q_heads / r->k->kv_heads;
  const int64_t first_half = (r->s->keys + 1) / 2;
  if (has(fault_merge_partly_split) && group > 0 && r->head % group % 2 == 1 && j >= first_half) {
    r->states[j] = key_hidden;
    if (has(fault_mask_key_leak) && isnan(dot(r, j))) r->is_nan = true;
    return;
  }
  if (!allowed && rules.length && r->k->p->softcap > 0 && has(fault_softcap_after_mask)) {
    r->states[j] = key_visible;
    r->scores[j] = -r->k->p->softcap;
    return;
  }
  if (!allowed && !has(fault_mask_key_leak)) return; /* what is hidden is not read */
  const double score = dot(r, j);
  if (!allowed) {
    r->is_nan = r->is_nan || isnan(score);
    return;
  }
  if (has(fault_softmax_dot_overflow) && score == INFINITY) r->is_nan = true;
  if (has(fault_softmax_dot_overflow) && score == -INFINITY) r->states[j] = key_weightless;
  r->scores[j] = finished_score(r, j, score, &rules);
}

void score_row(struct row* r) {
  r->is_nan = false;
  for (int64_t j = 0; j < r->s->keys; ++j) score_key(r, j);
}
