#include "rules.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "elements.h"

static int64_t integer_at(const struct gqa_kernel_tensor* tensor, int64_t index) {
  return (int64_t)load_element(tensor, index * tensor->strides[0]);
}

int64_t segment_count(const struct gqa_kernel_problem* p) {
  return p->cu_seqlens_q != NULL ? p->cu_seqlens_q->shape[0] - 1 : p->batch;
}

static int64_t offset_of(const struct gqa_kernel_problem* p, const struct segment* s) {
  switch (p->causal_alignment) {
    case GQA_CAUSAL_BOTTOM_RIGHT:
      return s->length - s->queries;
    case GQA_CAUSAL_ONNX:
      if (s->past > 0) return s->past;
      return p->nonpad_kv_seqlen != NULL ? s->length - s->queries : 0;
    default:
      return 0;
  }
}

struct segment segment_at(const struct gqa_kernel_problem* p, int64_t n) {
  struct segment s = {.batch = n, .slopes = n, .queries = p->queries, .past = p->past};
  s.keys = p->past + p->keys;
  if (p->cu_seqlens_q != NULL) {
    const struct gqa_kernel_tensor* cu_k =
        p->cu_seqlens_k != NULL ? p->cu_seqlens_k : p->cu_seqlens_q;
    s.batch = 0;
    s.query_begin = integer_at(p->cu_seqlens_q, n);
    s.queries = integer_at(p->cu_seqlens_q, n + 1) - s.query_begin;
    s.key_begin = integer_at(cu_k, n);
    s.keys = integer_at(cu_k, n + 1) - s.key_begin;
  }
  s.length = p->nonpad_kv_seqlen != NULL ? integer_at(p->nonpad_kv_seqlen, n) : s.keys;
  s.offset = offset_of(p, &s);
  return s;
}

int64_t kv_head_of(const struct gqa_kernel_problem* p, int64_t head) {
  switch (p->head_map_kind) {
    case GQA_HEAD_MAP_LIST:
      return p->head_map[head];
    case GQA_HEAD_MAP_INTERLEAVED:
      return head % p->kv_heads;
    default:
      return head / (p->q_heads / p->kv_heads);
  }
}

double scale_of(const struct gqa_kernel_problem* p) {
  return p->has_scale != 0 ? p->scale : 1 / sqrt((double)p->key_size);
}

bool causal_allows(const struct gqa_kernel_problem* p, int64_t position, int64_t key) {
  return p->causal == 0 || key <= position;
}

bool window_allows(const struct gqa_kernel_problem* p, int64_t position, int64_t key) {
  if (p->window_left >= 0 && key < position && position - key > p->window_left) return false;
  return p->window_right < 0 || key <= position || key - position <= p->window_right;
}

bool mask_allows(const struct gqa_kernel_problem* p, int64_t batch, int64_t head, int64_t row,
                 int64_t key, double* bias) {
  *bias = 0;
  const struct gqa_kernel_tensor* mask = p->attn_mask;
  if (mask == NULL) return true;
  const int64_t full[4] = {batch, head, row, key};
  int64_t index = 0;
  for (int axis = 0; axis < mask->rank; ++axis) {
    const int64_t extent = mask->shape[axis];
    const int64_t coordinate = extent == 1 ? 0 : full[4 - mask->rank + axis];
    if (coordinate >= extent) return false; /* beyond a short last axis */
    index += coordinate * mask->strides[axis];
  }
  const double entry = load_element(mask, index);
  if (mask->type == GQA_ELEMENT_BOOLEAN) return entry != 0;
  if (entry == -INFINITY) return false;
  *bias = entry;
  return true;
}

double slope_of(const struct gqa_kernel_problem* p, int64_t slopes_row, int64_t head) {
  const struct gqa_kernel_tensor* slopes = p->alibi_slopes;
  if (slopes == NULL) return 0;
  if (slopes->rank == 1) return load_element(slopes, head * slopes->strides[0]);
  return load_element(slopes, slopes_row * slopes->strides[0] + head * slopes->strides[1]);
}

bool sink_of(const struct gqa_kernel_problem* p, int64_t head, double* logit) {
  if (p->sink == NULL) return false;
  *logit = load_element(p->sink, head * p->sink->strides[0]);
  return *logit != -INFINITY;
}

static bool is_floating_point(const struct gqa_kernel_tensor* tensor) {
  return tensor == NULL || (tensor->type >= 0 && tensor->type <= GQA_ELEMENT_FLOAT8_E5M2);
}

int check_problem(const struct gqa_kernel_problem* p) {
  if (p->abi_version != GQA_KERNEL_ABI_VERSION) return GQA_KERNEL_UNSUPPORTED;
  const bool known = p->layout >= GQA_LAYOUT_BHSD && p->layout <= GQA_LAYOUT_THD &&
                     p->head_map_kind >= 0 && p->head_map_kind <= GQA_HEAD_MAP_LIST &&
                     p->causal_alignment >= 0 && p->causal_alignment <= GQA_CAUSAL_ONNX &&
                     p->empty_row >= 0 && p->empty_row <= GQA_EMPTY_ROW_MEAN;
  const bool floating = is_floating_point(p->query) && is_floating_point(p->key) &&
                        is_floating_point(p->value) && is_floating_point(p->output) &&
                        is_floating_point(p->past_key) && is_floating_point(p->past_value) &&
                        is_floating_point(p->sink) && is_floating_point(p->alibi_slopes);
  return known && floating ? GQA_KERNEL_OK : GQA_KERNEL_UNSUPPORTED;
}

int describe_kernel(struct gqa_kernel_info* info, const char* name) {
  if (info->struct_size < sizeof *info) return GQA_KERNEL_UNSUPPORTED;
  info->abi_version = GQA_KERNEL_ABI_VERSION;
  strncpy(info->name, name, sizeof info->name - 1);
  info->features = (GQA_FEATURE_MIXED_TYPES << 1) - 1; /* all of them */
  info->element_types = (1U << (GQA_ELEMENT_FLOAT8_E5M2 + 1)) - 1;
  info->layouts = (1U << (GQA_LAYOUT_THD + 1)) - 1;
  return GQA_KERNEL_OK;
}
