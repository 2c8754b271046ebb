/* Weights, sums and merges of the faulty kernel: one row. */
#include <math.h>
#include <stddef.h>

#include "faulty.h"

enum { softmax_block_keys = 2, shard_keys = 4 };

/* Keys [begin, end) of a row, with or without its sink. */
struct part {
  const struct row* rows; /* all rows of the head */
  const struct row* row;
  int64_t begin;
  int64_t end;
  bool has_sink;
  double sink;
  double* weights; /* [keys] */
  double largest;  /* of the scores so far */
  double total;    /* of exp(score - largest) */
};

static bool is_seen(const struct row* r, int64_t j) {
  return r->states[j] == key_visible;
}

static bool sees_any(const struct row* r, int64_t begin, int64_t end) {
  for (int64_t j = begin; j < end; ++j) {
    if (is_seen(r, j)) return true;
  }
  return false;
}

static double exponential(const struct row* r, double x) {
  return working(r->k->wide, exp(working(r->k->wide, x)));
}

static void add_to_total(struct part* part, double term) {
  part->total = working(part->row->k->wide, part->total + term);
}

/* The largest score first, as it should be. */
static void weigh_at_once(struct part* part) {
  const struct row* r = part->row;
  part->largest = part->has_sink ? part->sink : -INFINITY;
  for (int64_t j = part->begin; j < part->end; ++j) {
    if (is_seen(r, j)) part->largest = fmax(part->largest, r->scores[j]);
  }
  part->total = part->has_sink ? exponential(r, part->sink - part->largest) : 0;
  for (int64_t j = part->begin; j < part->end; ++j) {
    if (!is_seen(r, j)) continue;
    part->weights[j] = exponential(r, r->scores[j] - part->largest);
    add_to_total(part, part->weights[j]);
  }
}

/* Block after block: earlier sums are not rescaled, or by the inverse factor. */
static void weigh_in_blocks(struct part* part, bool inverted) {
  const struct row* r = part->row;
  for (int64_t block = part->begin; block < part->end; block += softmax_block_keys) {
    const int64_t end =
        block + softmax_block_keys < part->end ? block + softmax_block_keys : part->end;
    double largest = part->largest;
    for (int64_t j = block; j < end; ++j) {
      if (is_seen(r, j)) largest = fmax(largest, r->scores[j]);
    }
    if (inverted && part->largest != -INFINITY && largest > part->largest) {
      const double factor = exponential(r, largest - part->largest);
      part->total = working(r->k->wide, part->total * factor);
      for (int64_t j = part->begin; j < block; ++j) {
        if (is_seen(r, j)) part->weights[j] = working(r->k->wide, part->weights[j] * factor);
      }
    }
    part->largest = largest;
    for (int64_t j = block; j < end; ++j) {
      if (!is_seen(r, j)) continue;
      part->weights[j] = exponential(r, r->scores[j] - largest);
      add_to_total(part, part->weights[j]);
    }
  }
  if (!part->has_sink) return;
  if (part->largest == -INFINITY) part->largest = part->sink;
  add_to_total(part, exponential(r, part->sink - part->largest));
}

/* exp(score) over the sum of the same key's in all rows that see it. */
static double query_axis_weight(const struct part* part, int64_t j) {
  const struct row* r = part->row;
  double largest = -INFINITY;
  for (int64_t i = 0; i < r->s->queries; ++i) {
    if (is_seen(&part->rows[i], j)) largest = fmax(largest, part->rows[i].scores[j]);
  }
  double sum = 0;
  for (int64_t i = 0; i < r->s->queries; ++i) {
    if (!is_seen(&part->rows[i], j)) continue;
    sum = working(r->k->wide, sum + exponential(r, part->rows[i].scores[j] - largest));
  }
  return working(r->k->wide, exponential(r, r->scores[j] - largest) / sum);
}

/* Weights that sum to one (with the sink's), where nothing is wrong. */
static double normalised_weight(const struct part* part, int64_t j) {
  const bool wide = part->row->k->wide;
  const double weight = has(fault_softmax_query_axis)
                            ? query_axis_weight(part, j)
                            : working(wide, part->weights[j] / part->total);
  return working(wide, weight * part->row->k->weight_scale);
}

static double sink_weight(const struct part* part) {
  const struct row* r = part->row;
  if (!part->has_sink || has(fault_softmax_query_axis)) return 0;
  const double weight = exponential(r, part->sink - part->largest) / part->total;
  return working(r->k->wide, weight * r->k->weight_scale);
}

static double add_term(const struct row* r, double sum, double weight, double value) {
  if (has(fault_softmax_bfloat16)) {
    return round_to_type(GQA_ELEMENT_BFLOAT16, sum + weight * value);
  }
  if (has(fault_softmax_binary16)) {
    return round_to_type(GQA_ELEMENT_BINARY16, sum + weight * value);
  }
  return working(r->k->wide, sum + working(r->k->wide, weight * value));
}

/* The part's output [dv]; returns its log-sum-exp. */
static double attend_part(struct part* part, double* output) {
  const struct row* r = part->row;
  part->largest = -INFINITY;
  part->total = 0;
  if (has(fault_softmax_not_rescaled) || has(fault_softmax_inverted)) {
    weigh_in_blocks(part, has(fault_softmax_inverted));
  } else {
    weigh_at_once(part);
  }
  const int64_t columns = r->k->p->value_size;
  for (int64_t c = 0; c < columns; ++c) output[c] = 0;
  for (int64_t j = part->begin; j < part->end; ++j) {
    if (!is_seen(r, j)) continue;
    const double weight = normalised_weight(part, j);
    for (int64_t c = 0; c < columns; ++c) {
      output[c] = add_term(r, output[c], weight, value_element(r->k, r->s, r->value_head, j, c));
    }
  }
  const double weight = sink_weight(part);
  if (has(fault_sink_value) && weight != 0) {
    for (int64_t c = 0; c < columns; ++c) {
      output[c] = add_term(r, output[c], weight, value_element(r->k, r->s, r->value_head, 0, c));
    }
  }
  return part->largest + log(part->total);
}

/* Shards of keys merged without weights, or with LSEs of base 2 taken for natural ones.
 * `partial`: [dv]. The outputs are summed with a running rescaling, so none is kept. */
static void merge_shards(struct part part, double* partial, double* output) {
  const struct row* r = part.row;
  const int64_t columns = r->k->p->value_size;
  const int64_t keys = part.end;
  const bool sink = part.has_sink;
  double largest = -INFINITY;
  double total = 0;
  bool is_first = true;
  for (int64_t c = 0; c < columns; ++c) output[c] = 0;
  for (int64_t begin = 0; begin < keys; begin += shard_keys) {
    part.begin = begin;
    part.end = begin + shard_keys < keys ? begin + shard_keys : keys;
    if (!sees_any(r, part.begin, part.end)) continue;
    part.has_sink = sink && is_first;
    is_first = false;
    const double lse = attend_part(&part, partial) / log(2);
    const double exponent = has(fault_merge_lse_base) ? lse : 0;
    const double now = fmax(largest, exponent);
    const double old = largest == -INFINITY ? 0 : exp(largest - now);
    const double weight = exp(exponent - now);
    for (int64_t c = 0; c < columns; ++c) {
      output[c] = working(r->k->wide, output[c] * old + partial[c] * weight);
    }
    total = working(r->k->wide, total * old + weight);
    largest = now;
  }
  for (int64_t c = 0; c < columns; ++c) output[c] = working(r->k->wide, output[c] / total);
}

/* The mean of values [0, keys), or of those that just one of {causal or window, mask} hides. */
static void mean_of_values(const struct row* r, bool one_hand_only, double* output) {
  int64_t count = 0;
  const int64_t columns = r->k->p->value_size;
  for (int64_t c = 0; c < columns; ++c) output[c] = 0;
  for (int64_t j = 0; j < r->s->keys; ++j) {
    if (one_hand_only && r->one_hand[j] == 0) continue;
    ++count;
    for (int64_t c = 0; c < columns; ++c) {
      const double value = value_element(r->k, r->s, r->value_head, j, c);
      output[c] = working(r->k->wide, output[c] + value);
    }
  }
  for (int64_t c = 0; c < columns; ++c) output[c] = count == 0 ? NAN : output[c] / (double)count;
}

static void empty_row(const struct row* r, double* output) {
  const int32_t policy = r->k->p->empty_row;
  if (has(fault_mask_saturated)) {
    mean_of_values(r, true, output);
  } else if (has(fault_mask_empty_mean) ||
             (policy == GQA_EMPTY_ROW_MEAN && !has(fault_mask_empty_nan))) {
    mean_of_values(r, false, output);
  } else {
    const bool is_nan = has(fault_mask_empty_nan) || policy == GQA_EMPTY_ROW_NAN;
    for (int64_t c = 0; c < r->k->p->value_size; ++c) output[c] = is_nan ? NAN : 0;
  }
}

/* exp(score) in binary32 without a shift: overflows, or nothing but zeros. */
static bool overflows_without_shift(const struct row* r, bool has_sink, double sink) {
  double largest = -INFINITY;
  for (int64_t j = 0; j < r->s->keys; ++j) {
    if (is_seen(r, j)) largest = fmax(largest, r->scores[j]);
  }
  const double with_sink = has_sink ? fmax(largest, sink) : largest;
  return largest > 88.7228 || with_sink < -103.9;
}

static bool is_whole_row_nan(const struct row* r, bool sees, bool has_sink, double sink) {
  if (r->is_nan) return true;
  bool any_weightless = false;
  for (int64_t j = 0; j < r->s->keys; ++j) {
    any_weightless = any_weightless || r->states[j] == key_weightless;
  }
  if (any_weightless && !sees) return true;
  if (has(fault_sink_empty_tile) && has_sink &&
      !sees_any(r, 0, r->s->keys < shard_keys ? r->s->keys : shard_keys)) {
    return true;
  }
  return has(fault_softmax_no_max) && sees && overflows_without_shift(r, has_sink, sink);
}

/* 0 * NaN: what hidden keys leave in the sum of values. */
static void leak_hidden_values(const struct row* r, double* output) {
  for (int64_t j = 0; j < r->s->keys; ++j) {
    if (r->states[j] != key_hidden) continue;
    for (int64_t c = 0; c < r->k->p->value_size; ++c) {
      if (!isfinite(value_element(r->k, r->s, r->value_head, j, c))) output[c] = NAN;
    }
  }
}

void attend_row(const struct row* rows, int64_t index, double* scratch, double* output) {
  const struct row* r = &rows[index];
  const int64_t keys = r->s->keys;
  struct part part = {.rows = rows, .row = r, .end = keys, .weights = scratch};
  part.has_sink = faulty_sink(r->k, r->head, &part.sink);
  const bool sees = sees_any(r, 0, keys);
  if (is_whole_row_nan(r, sees, part.has_sink, part.sink)) {
    for (int64_t c = 0; c < r->k->p->value_size; ++c) output[c] = NAN;
    return;
  }
  if (!sees && !part.has_sink) {
    empty_row(r, output);
  } else if (sees && (has(fault_merge_lse_base) || has(fault_merge_unweighted))) {
    merge_shards(part, scratch + keys, output);
  } else {
    attend_part(&part, output);
  }
  if (has(fault_mask_value_leak)) leak_hidden_values(r, output);
}
