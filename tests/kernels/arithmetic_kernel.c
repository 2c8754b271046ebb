/* Attention in any of many arithmetics, chosen by options "word=value,word=value"; see
 * set_option. Plain contract alone: no causal rule, window, mask, ... */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arithmetic_sums.h"
#include "elements.h"

enum scale_place { SCALE_ON_QUERY, SCALE_ON_BOTH, SCALE_ON_SCORE, SCALE_IN_EXPONENT };
enum exponential { EXP_E, EXP_TWO, EXP_BINARY16 };

static struct arithmetic {
  int64_t tile, splits; /* tile 0: all keys of a split */
  /* Ways of their own, as released kernels have them; 0: none. Splits of one query row, the tile of
   * 64 rows and more, and the tile where dv is no multiple of 16. */
  int64_t decode_splits, prefill_tile, odd_tile;
  bool tree, eager, reciprocal, flushes;
  struct sum_plan keys, products;
  enum arithmetic_format operands, stored, score;
  enum scale_place scale;
  enum exponential exponential;
} current;

/* What one split of the keys has summed. */
struct partial {
  double largest, sum;
  double* values;
};

static const double log2e = 1.4426950408889634;

static double f32(double value) {
  return (double)(float)value;
}

static double weight_of(double score, double largest, double scale) {
  if (current.exponential == EXP_BINARY16) {
    return round_as(FORMAT_F16, exp(round_as(FORMAT_F16, score - largest)));
  }
  if (current.exponential == EXP_E) return f32(exp(f32(score - largest)));
  if (current.scale != SCALE_IN_EXPONENT) {
    return f32(exp2(f32(f32(score - largest) * f32(log2e))));
  }
  const double factor = f32(scale * f32(log2e));
  return f32(exp2(f32(score * factor - f32(largest * factor))));
}

static double operand_of(const struct gqa_kernel_tensor* tensor, int64_t index, double factor) {
  const double given = load_element(tensor, index);
  const double scaled = factor == 1 ? given : round_to_type(tensor->type, given * factor);
  return current.operands == FORMAT_F32 ? scaled : round_as(current.operands, scaled);
}

/* Scores of one row; `k` [keys, dk]. */
static void scores_of(const double* q, const double* k, int64_t keys, int64_t width, double scale,
                      double* scores, double* terms) {
  for (int64_t j = 0; j < keys; ++j) {
    double score = plan_sum(&current.products, 0, q, k + j * width, width, terms);
    score = round_as(current.score, score);
    if (current.scale == SCALE_ON_SCORE) score = round_as(current.score, f32(score * scale));
    scores[j] = score;
  }
}

/* Adds the keys [begin, end) to a partial sum. `v` is [dv, keys]. */
static void add_keys(struct partial* partial, const double* scores, const double* v, int64_t keys,
                     int64_t width, int64_t begin, int64_t end, double scale, double* space) {
  double* weights = space;
  double largest = partial->largest;
  for (int64_t j = begin; j < end; ++j) largest = fmax(largest, scores[j]);
  const double factor =
      partial->largest == -INFINITY ? 0 : weight_of(partial->largest, largest, scale);
  partial->largest = largest;
  partial->sum = f32(partial->sum * factor);
  for (int64_t j = begin; j < end; ++j) {
    const double weight = weight_of(scores[j], largest, scale);
    partial->sum = f32(partial->sum + weight);
    weights[j - begin] = round_as(current.stored, weight);
  }
  struct sum_plan rescale = current.keys;
  rescale.truncates = false;
  for (int64_t c = 0; c < width; ++c) {
    const double rescaled = plan_round(&rescale, partial->values[c] * factor);
    partial->values[c] =
        plan_sum(&current.keys, rescaled, weights, v + c * keys + begin, end - begin, space + keys);
  }
}

static double divided(double value, double sum) {
  return current.reciprocal ? f32(value * f32(1 / sum)) : f32(value / sum);
}

static double sum32(double a, double b) {
  const struct sum_plan plain = {.format = FORMAT_F32};
  return plan_add(&plain, a, b);
}

/* FlashDecoding: normalised partial sums, weighted by their log-sum-exp. */
static void merge_in_order(struct partial* parts, int64_t count, int64_t width, double unit) {
  double lse[64];
  double largest = -INFINITY;
  for (int64_t n = 0; n < count; ++n) {
    lse[n] = f32(f32(parts[n].largest * unit) + f32(log(parts[n].sum)));
    largest = fmax(largest, lse[n]);
  }
  double total = 0;
  for (int64_t n = 0; n < count; ++n) {
    lse[n] = f32(exp(f32(lse[n] - largest)));
    total = sum32(total, lse[n]);
  }
  for (int64_t c = 0; c < width; ++c) {
    double sum = 0;
    for (int64_t n = 0; n < count; ++n) {
      sum = sum32(sum, divided(parts[n].values[c], parts[n].sum) * lse[n]);
    }
    parts[0].values[c] = f32(sum / total);
  }
}

static void merge_pair(struct partial* a, const struct partial* b, int64_t width, double unit) {
  const double largest = fmax(a->largest, b->largest);
  const double e = f32(exp(f32((a->largest - largest) * unit)));
  const double f = f32(exp(f32((b->largest - largest) * unit)));
  a->largest = largest;
  a->sum = sum32(f32(a->sum * e), f32(b->sum * f));
  for (int64_t c = 0; c < width; ++c) {
    a->values[c] = sum32(f32(a->values[c] * e), f32(b->values[c] * f));
  }
}

static void merge(struct partial* parts, int64_t count, int64_t width, double unit) {
  if (count > 1 && !current.tree) {
    merge_in_order(parts, count, width, unit);
    return;
  }
  for (int64_t step = 1; step < count; step *= 2) {
    for (int64_t n = 0; n + step < count; n += 2 * step) {
      merge_pair(&parts[n], &parts[n + step], width, unit);
    }
  }
  for (int64_t c = 0; c < width; ++c)
    parts[0].values[c] = divided(parts[0].values[c], parts[0].sum);
}

static void attend_eager(double* values, const double* scores, const double* v, int64_t keys,
                         int64_t width, double scale, double* space) {
  double largest = -INFINITY;
  double sum = 0;
  for (int64_t j = 0; j < keys; ++j) largest = fmax(largest, scores[j]);
  for (int64_t j = 0; j < keys; ++j) {
    space[j] = weight_of(scores[j], largest, scale);
    sum = f32(sum + space[j]);
  }
  for (int64_t j = 0; j < keys; ++j) space[j] = round_as(current.stored, f32(space[j] / sum));
  const int64_t tile = current.tile > 0 ? current.tile : keys;
  for (int64_t c = 0; c < width; ++c) {
    values[c] = 0;
    for (int64_t j = 0; j < keys; j += tile) {
      values[c] = plan_sum(&current.keys, values[c], space + j, v + c * keys + j,
                           j + tile < keys ? tile : keys - j, space + keys);
    }
  }
}

static void attend(double* values, const double* scores, const double* v, int64_t keys,
                   int64_t width, double scale, double* space) {
  if (current.eager) {
    attend_eager(values, scores, v, keys, width, scale, space);
    return;
  }
  struct partial parts[64];
  const int64_t length = (keys + current.splits - 1) / current.splits;
  int64_t count = 0;
  for (int64_t begin = 0; begin < keys; begin += length, ++count) {
    struct partial* part = &parts[count];
    *part = (struct partial){.largest = -INFINITY, .values = values + count * width};
    memset(part->values, 0, (size_t)width * sizeof(double));
    const int64_t end = begin + length < keys ? begin + length : keys;
    const int64_t tile = current.tile > 0 ? current.tile : length;
    for (int64_t j = begin; j < end; j += tile) {
      add_keys(part, scores, v, keys, width, j, j + tile < end ? j + tile : end, scale, space);
    }
  }
  merge(parts, count, width, current.scale == SCALE_IN_EXPONENT ? scale : 1);
}

/* One KV head: its keys [keys, dk] and values [dv, keys] as the kernel multiplies them. */
static void load_head(const struct gqa_kernel_problem* p, int64_t b, int64_t h, double factor,
                      double* k, double* v) {
  for (int64_t j = 0; j < p->keys; ++j) {
    for (int64_t c = 0; c < p->key_size; ++c) {
      k[j * p->key_size + c] = operand_of(p->key, index_of(p->key, b, h, j, c), factor);
    }
    for (int64_t c = 0; c < p->value_size; ++c) {
      v[c * p->keys + j] = operand_of(p->value, index_of(p->value, b, h, j, c), 1);
    }
  }
}

static void run_head(const struct gqa_kernel_problem* p, int64_t b, int64_t h, double* space) {
  const int64_t width = p->key_size;
  const double scale = f32(1 / sqrt((double)width));
  const double root = f32(sqrt(1 / sqrt((double)width)));
  double* k = space;
  double* v = k + p->keys * width;
  double* q = v + p->keys * p->value_size;
  double* scores = q + width;
  double* values = scores + p->keys;
  double* rest = values + 64 * p->value_size;
  load_head(p, b, h / (p->q_heads / p->kv_heads), current.scale == SCALE_ON_BOTH ? root : 1, k, v);
  const double factor = current.scale == SCALE_ON_QUERY  ? scale
                        : current.scale == SCALE_ON_BOTH ? root
                                                         : 1;
  for (int64_t i = 0; i < p->queries; ++i) {
    for (int64_t c = 0; c < width; ++c)
      q[c] = operand_of(p->query, index_of(p->query, b, h, i, c), factor);
    scores_of(q, k, p->keys, width, scale, scores, rest);
    attend(values, scores, v, p->keys, p->value_size, scale, rest);
    for (int64_t c = 0; c < p->value_size; ++c) {
      double output = round_to_type(p->output->type, values[c]);
      const double normal = p->output->type == GQA_ELEMENT_BINARY16 ? 0x1p-14 : 0x1p-126;
      if (current.flushes && fabs(output) < normal) output = 0;
      store_element(p->output, index_of(p->output, b, h, i, c), output);
    }
  }
}

static struct arithmetic way_of(const struct gqa_kernel_problem* p) {
  struct arithmetic way = current;
  if (p->queries == 1 && way.decode_splits > 0) way.splits = way.decode_splits;
  if (p->queries >= 64 && way.prefill_tile > 0) way.tile = way.prefill_tile;
  if (p->value_size % 16 != 0 && way.odd_tile > 0) way.tile = way.odd_tile;
  return way;
}

int gqa_kernel_run(const struct gqa_kernel_problem* p) {
  const bool plain = p->past == 0 && p->attn_mask == NULL && p->nonpad_kv_seqlen == NULL &&
                     p->sink == NULL && p->alibi_slopes == NULL && p->cu_seqlens_q == NULL &&
                     p->causal == 0 && p->window_left < 0 && p->window_right < 0 &&
                     p->softcap == 0 && p->has_scale == 0 && p->layout == GQA_LAYOUT_BHSD;
  if (!plain || p->head_map_kind != GQA_HEAD_MAP_CONTIGUOUS) return GQA_KERNEL_UNSUPPORTED;
  const int64_t needed =
      p->keys * (p->key_size + p->value_size + 4) + 2 * p->key_size + 64 * p->value_size;
  double* space = malloc((size_t)needed * sizeof(double));
  if (space == NULL) return 2;
  const struct arithmetic configured = current;
  current = way_of(p);
  for (int64_t b = 0; b < p->batch; ++b) {
    for (int64_t h = 0; h < p->q_heads; ++h) run_head(p, b, h, space);
  }
  current = configured;
  free(space);
  return GQA_KERNEL_OK;
}

static int index_among(const char* value, const char* const* words, int count) {
  for (int n = 0; n < count; ++n) {
    if (strcmp(value, words[n]) == 0) return n;
  }
  return -1;
}

static bool set_format(const char* value, enum arithmetic_format* format) {
  static const char* const words[] = {"f32", "tf32", "f16", "bf16", "e4m3", "e5m2"};
  const int n = index_among(value, words, 6);
  if (n >= 0) *format = (enum arithmetic_format)n;
  return n >= 0;
}

/* sequential, tile_sum, pairwise, lanes8, halves8 (lanes, merged in halves), block16 */
static bool set_order(const char* value, struct sum_plan* plan) {
  static const char* const words[] = {"sequential", "tile_sum", "pairwise"};
  const int n = index_among(value, words, 3);
  if (n >= 0) {
    plan->inner = (enum inner_order)n;
    return true;
  }
  plan->halves = strncmp(value, "halves", 6) == 0;
  const bool lanes = plan->halves || strncmp(value, "lanes", 5) == 0;
  if (!lanes && strncmp(value, "block", 5) != 0) return false;
  plan->inner = lanes ? INNER_LANES : INNER_BLOCK;
  plan->width = atoi(value + (plan->halves ? 6 : 5));
  return plan->width > 0;
}

/* f32, f32z (toward zero), f16 */
static bool set_accumulator(const char* value, struct sum_plan* plan) {
  plan->truncates = strcmp(value, "f32z") == 0;
  plan->format = strcmp(value, "f16") == 0 ? FORMAT_F16 : FORMAT_F32;
  return plan->truncates || strcmp(value, "f32") == 0 || strcmp(value, "f16") == 0;
}

static bool set_option(const char* word, const char* value) {
  static const char* const places[] = {"query", "both", "score", "exponent"};
  static const char* const exponentials[] = {"e", "two", "binary16"};
  static const char* const flags[] = {"0", "1"};
  const int flag = index_among(value, flags, 2);
  if (strcmp(word, "tile") == 0) return (current.tile = atoi(value)) >= 0;
  if (strcmp(word, "prefill_tile") == 0) return (current.prefill_tile = atoi(value)) >= 0;
  if (strcmp(word, "odd_tile") == 0) return (current.odd_tile = atoi(value)) >= 0;
  if (strcmp(word, "decode_splits") == 0) {
    current.decode_splits = atoi(value);
    return current.decode_splits >= 1 && current.decode_splits <= 64;
  }
  if (strcmp(word, "splits") == 0) {
    current.splits = atoi(value);
    return current.splits >= 1 && current.splits <= 64;
  }
  if (strcmp(word, "tree") == 0) return (current.tree = flag == 1) || flag == 0;
  if (strcmp(word, "eager") == 0) return (current.eager = flag == 1) || flag == 0;
  if (strcmp(word, "reciprocal") == 0) return (current.reciprocal = flag == 1) || flag == 0;
  if (strcmp(word, "flushes") == 0) return (current.flushes = flag == 1) || flag == 0;
  if (strcmp(word, "fused") == 0) return (current.keys.fused = flag == 1) || flag == 0;
  if (strcmp(word, "dk_fused") == 0) return (current.products.fused = flag == 1) || flag == 0;
  if (strcmp(word, "keys") == 0) return set_order(value, &current.keys);
  if (strcmp(word, "dk") == 0) return set_order(value, &current.products);
  if (strcmp(word, "accumulator") == 0) return set_accumulator(value, &current.keys);
  if (strcmp(word, "dk_accumulator") == 0) return set_accumulator(value, &current.products);
  if (strcmp(word, "operands") == 0) return set_format(value, &current.operands);
  if (strcmp(word, "stored") == 0) return set_format(value, &current.stored);
  if (strcmp(word, "score") == 0) return set_format(value, &current.score);
  const bool is_scale = strcmp(word, "scale") == 0;
  if (!is_scale && strcmp(word, "exp") != 0) return false;
  const int n = is_scale ? index_among(value, places, 4) : index_among(value, exponentials, 3);
  if (n >= 0 && is_scale) current.scale = (enum scale_place)n;
  if (n >= 0 && !is_scale) current.exponential = (enum exponential)n;
  return n >= 0;
}

int gqa_kernel_configure(const char* options) {
  char words[512];
  if (strlen(options) >= sizeof words) return 3;
  strcpy(words, options);
  current = (struct arithmetic){.tile = 64, .splits = 1, .scale = SCALE_ON_SCORE};
  for (char* word = strtok(words, ","); word != NULL; word = strtok(NULL, ",")) {
    char* value = strchr(word, '=');
    if (value == NULL) return 4;
    *value = '\0';
    if (!set_option(word, value + 1)) return 5;
  }
  return GQA_KERNEL_OK;
}

int gqa_kernel_capabilities(struct gqa_kernel_info* info) {
  info->abi_version = GQA_KERNEL_ABI_VERSION;
  info->features = GQA_FEATURE_VALUE_SIZE;
  info->element_types =
      1U << GQA_ELEMENT_BINARY32 | 1U << GQA_ELEMENT_BINARY16 | 1U << GQA_ELEMENT_BFLOAT16;
  info->layouts = 1U << GQA_LAYOUT_BHSD;
  strcpy(info->name, "known arithmetic");
  return gqa_kernel_configure("");
}
