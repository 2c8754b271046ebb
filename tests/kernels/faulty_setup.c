/* Layouts, sizes, head maps and scales of the faulty kernel. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "faulty.h"

static void swap_heads_and_positions(struct gqa_kernel_tensor* t) {
  const int64_t shape = t->shape[1];
  const int64_t stride = t->strides[1];
  t->shape[1] = t->shape[2];
  t->strides[1] = t->strides[2];
  t->shape[2] = shape;
  t->strides[2] = stride;
}

/* [B, T, H * d] reshaped to [B, H, T, d] without a transposition. */
static void reshape(struct gqa_kernel_tensor* t) {
  t->strides[2] = t->shape[3];
  t->strides[1] = t->shape[2] * t->shape[3];
}

static void apply_stride_faults(struct setup* k) {
  const struct gqa_kernel_problem* p = k->p;
  if (has(fault_layout_bshd) && p->layout == GQA_LAYOUT_BSHD && p->past == 0 &&
      p->queries == p->keys) {
    k->axes_swapped = true;
    swap_heads_and_positions(&k->query);
    swap_heads_and_positions(&k->key);
    swap_heads_and_positions(&k->value);
    swap_heads_and_positions(&k->output);
  }
  if (has(fault_layout_reshape) && p->layout == GQA_LAYOUT_BSH) {
    reshape(&k->query);
    reshape(&k->key);
    reshape(&k->value);
  }
  if (has(fault_layout_value_key_size) && p->layout == GQA_LAYOUT_BHSD) {
    k->value.strides[2] = p->key_size;
    k->past_value.strides[2] = p->key_size;
  }
  if (has(fault_layout_value_key_strides)) {
    memcpy(k->value.strides, k->key.strides, sizeof k->value.strides);
    memcpy(k->past_value.strides, k->past_key.strides, sizeof k->value.strides);
  }
  const bool batch_outermost = p->layout != GQA_LAYOUT_SBHD && p->layout != GQA_LAYOUT_THD;
  if (has(fault_layout_batch_stride) && batch_outermost) {
    struct gqa_kernel_tensor* tensors[] = {&k->key, &k->value, &k->past_key, &k->past_value};
    for (size_t i = 0; i < 4; ++i) {
      tensors[i]->strides[0] = tensors[i]->strides[0] / p->kv_heads * p->q_heads;
    }
  }
}

static void set_tensors(const struct gqa_kernel_problem* p, struct setup* k) {
  k->query = *p->query;
  k->key = *p->key;
  k->value = *p->value;
  k->output = *p->output;
  if (p->past_key != NULL) k->past_key = *p->past_key;
  if (p->past_value != NULL) k->past_value = *p->past_value;
  apply_stride_faults(k);
  k->q_heads = k->query.shape[1];
  k->kv_heads = k->key.shape[1];
  k->queries = k->query.shape[2];
  k->keys = p->past + k->key.shape[2];
}

/* Head row n of a fused projection, in groups [q..q, k, v] or in sections [all q, all k, all v]. */
static struct head_source fused_row(const struct setup* k, int64_t n, bool in_groups) {
  const int64_t group = k->q_heads / k->kv_heads;
  struct head_source source;
  if (in_groups) {
    const int64_t g = n / (group + 2);
    const int64_t r = n % (group + 2);
    source.tensor = r < group ? &k->query : (r == group ? &k->key : &k->value);
    source.head = r < group ? g * group + r : g;
  } else {
    const bool is_query = n < k->q_heads;
    const bool is_key = !is_query && n < k->q_heads + k->kv_heads;
    source.tensor = is_query ? &k->query : (is_key ? &k->key : &k->value);
    source.head = is_query ? n : (n - k->q_heads) % k->kv_heads;
  }
  return source;
}

static bool can_be_fused(const struct setup* k) {
  const struct gqa_kernel_problem* p = k->p;
  return p->key_size == p->value_size && p->queries == p->keys && !k->axes_swapped &&
         p->q_heads % p->kv_heads == 0 && k->query.type == k->key.type &&
         k->query.type == k->value.type;
}

/* Which row of the fused projection the kernel takes for which head. */
static void set_heads(struct setup* k) {
  const bool groups = has(fault_layout_groups_as_sections) && can_be_fused(k);
  const bool sections = has(fault_layout_sections_as_groups) && can_be_fused(k);
  const bool fused = groups || sections;
  const int64_t group = fused ? k->q_heads / k->kv_heads : 1;
  for (int64_t h = 0; h < k->q_heads; ++h) {
    const struct head_source own = {&k->query, h};
    const int64_t n = groups ? h : h / group * (group + 2) + h % group;
    k->query_heads[h] = fused ? fused_row(k, n, groups) : own;
  }
  for (int64_t kv = 0; kv < k->kv_heads; ++kv) {
    const struct head_source own_key = {&k->key, kv};
    const struct head_source own_value = {&k->value, kv};
    const int64_t n = groups ? k->q_heads + kv : kv * (group + 2) + group;
    k->key_heads[kv] = fused ? fused_row(k, n, groups) : own_key;
    k->value_heads[kv] = fused ? fused_row(k, n + (groups ? k->kv_heads : 1), groups) : own_value;
  }
}

static void set_scale(struct setup* k) {
  const struct gqa_kernel_problem* p = k->p;
  double scale = scale_of(p);
  if (has(fault_scale_argument) && p->has_scale != 0) scale = 1 / sqrt((double)p->key_size);
  if (has(fault_scale_missing)) scale = 1;
  if (has(fault_scale_twice)) scale *= scale;
  if (has(fault_scale_model_width)) scale = 1 / sqrt((double)(k->q_heads * p->key_size));
  if (has(fault_scale_head_count)) scale = 1 / sqrt((double)k->q_heads);
  if (has(fault_scale_value_size)) scale = 1 / sqrt((double)p->value_size);
  scale = working(k->wide, scale);
  k->scale = has(fault_scale_on_weights) ? 1 : scale;
  k->weight_scale = has(fault_scale_on_weights) ? scale : 1;
}

bool make_setup(const struct gqa_kernel_problem* p, struct setup* k) {
  memset(k, 0, sizeof *k);
  k->p = p;
  k->wide = p->output->type == GQA_ELEMENT_BINARY64;
  set_tensors(p, k);
  const size_t heads = (size_t)(k->q_heads + 2 * k->kv_heads);
  k->query_heads = malloc(heads * sizeof *k->query_heads);
  if (k->query_heads == NULL) return false;
  k->key_heads = k->query_heads + k->q_heads;
  k->value_heads = k->key_heads + k->kv_heads;
  set_heads(k);
  set_scale(k);
  return true;
}

void free_setup(struct setup* setup) {
  free(setup->query_heads);
}

int64_t key_repeats(const struct setup* k) {
  const bool repeated = has(fault_head_map_sequence) && k->kv_heads == 1 && k->p->attn_mask == NULL;
  return repeated ? k->q_heads : 1;
}

static int64_t declared_head(const struct setup* k, int64_t head) {
  if (k->axes_swapped) return head * k->kv_heads / k->q_heads; /* as many as positions */
  return kv_head_of(k->p, head);
}

static int64_t any_head(const struct setup* k, int64_t head) {
  const int64_t group = k->q_heads / k->kv_heads;
  if (has(fault_head_map_replica) && k->kv_heads > 1 && k->q_heads % (2 * k->kv_heads) == 0) {
    const int64_t heads_per_rank = k->q_heads / (2 * k->kv_heads);
    return head / heads_per_rank % k->kv_heads;
  }
  if (has(fault_head_map_first_shard) && k->kv_heads % 2 == 0) {
    return head / group % (k->kv_heads / 2);
  }
  if (has(fault_head_map_single)) return 0;
  if (has(fault_head_map_tiled)) return head % k->kv_heads;
  return declared_head(k, head);
}

int64_t key_head_of(const struct setup* k, int64_t head) {
  return has(fault_head_map_key_tiled) ? head % k->kv_heads : any_head(k, head);
}

int64_t value_head_of(const struct setup* k, int64_t head) {
  return has(fault_head_map_value_tiled) ? head % k->kv_heads : any_head(k, head);
}
