/* What a kernel's shared object exports to be audited: a C ABI, plain C11, no library needed.
 *
 * A kernel exports gqa_kernel_capabilities and gqa_kernel_run, and gqa_kernel_configure if it has
 * options. It is loaded into a process of its own (src/gqa/kernel/host.hpp), one call at a time.
 *
 * Shapes: B batch entries, Hq query heads, Hkv KV heads, T queries, S new keys, P past keys,
 * dk and dv coordinates; keys seen are the P past ones followed by the S new ones.
 * Words follow the ONNX Attention operator; what they mean is stated in the attention contract
 * (README).
 *
 * Versions: a struct may grow at its end within one GQA_KERNEL_ABI_VERSION; struct_size, set by
 * the caller, says which fields are there. A field that exists never changes. An enumerator that
 * a kernel does not know is GQA_KERNEL_UNSUPPORTED.
 */
#ifndef GQA_KERNEL_ABI_H
#define GQA_KERNEL_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GQA_KERNEL_ABI_VERSION 1
#define GQA_KERNEL_API __attribute__((visibility("default")))

/* Results of gqa_kernel_run and gqa_kernel_configure; any other number is the kernel's own error.
 * Unsupported: the problem is outside the capabilities, and nothing was written. */
#define GQA_KERNEL_OK 0
#define GQA_KERNEL_UNSUPPORTED 1

enum gqa_element_type {
  GQA_ELEMENT_BINARY64 = 0,
  GQA_ELEMENT_BINARY32 = 1,
  GQA_ELEMENT_BINARY16 = 2,
  GQA_ELEMENT_BFLOAT16 = 3,
  GQA_ELEMENT_FLOAT8_E4M3FN = 4,
  GQA_ELEMENT_FLOAT8_E5M2 = 5,
  GQA_ELEMENT_BOOLEAN = 6, /* one byte; not 0: true */
  GQA_ELEMENT_INT8 = 7,
  GQA_ELEMENT_UINT8 = 8,
  GQA_ELEMENT_INT32 = 9,
  GQA_ELEMENT_INT64 = 10
};

/* Where the axes of query, key, value and output are in memory. Strides say the same, always. */
enum gqa_layout {
  GQA_LAYOUT_BHSD = 0,
  GQA_LAYOUT_BSHD = 1,
  GQA_LAYOUT_SBHD = 2,
  GQA_LAYOUT_BSH = 3, /* heads folded into the last axis */
  GQA_LAYOUT_THD = 4  /* packed documents, cut at cu_seqlens; B is 1 */
};

/* Which KV head query head h reads. */
enum gqa_head_map {
  GQA_HEAD_MAP_CONTIGUOUS = 0,  /* floor(h / (Hq / Hkv)) */
  GQA_HEAD_MAP_INTERLEAVED = 1, /* h mod Hkv */
  GQA_HEAD_MAP_LIST = 2         /* head_map[h] */
};

/* The position of query row i is i + offset. L is nonpad_kv_seqlen[b], or P + S without it. */
enum gqa_causal_alignment {
  GQA_CAUSAL_TOP_LEFT = 0,     /* offset 0 */
  GQA_CAUSAL_BOTTOM_RIGHT = 1, /* offset L - T */
  GQA_CAUSAL_ONNX = 2          /* P if P > 0, else L - T with nonpad_kv_seqlen, else 0 */
};

/* What a row without a visible key and without a sink holds. */
enum gqa_empty_row {
  GQA_EMPTY_ROW_ZERO = 0,
  GQA_EMPTY_ROW_NAN = 1,
  GQA_EMPTY_ROW_ANY = 2,
  GQA_EMPTY_ROW_MEAN = 3 /* the mean of all P + S values */
};

/* A tensor in memory. Element [a, b, ...] is data[a * strides[0] + b * strides[1] + ...];
 * strides count elements. `data` is aligned to 64 bytes. */
struct gqa_kernel_tensor {
  uint32_t struct_size;
  int32_t type;       /* enum gqa_element_type */
  int32_t rank;       /* 1 to 4 */
  int32_t reserved;   /* 0 */
  void* data;         /* to be written only in `output` */
  int64_t elements;   /* elements of the buffer from `data` on, gaps between rows included */
  int64_t shape[4];   /* [rank] */
  int64_t strides[4]; /* [rank], in elements, never negative */
};

/* One problem. Absent tensors are null. */
struct gqa_kernel_problem {
  uint32_t struct_size;
  uint32_t abi_version; /* GQA_KERNEL_ABI_VERSION of the caller */

  int64_t batch;      /* B */
  int64_t q_heads;    /* Hq */
  int64_t kv_heads;   /* Hkv */
  int64_t queries;    /* T; THD: of all documents together */
  int64_t keys;       /* S; THD: of all documents together */
  int64_t past;       /* P */
  int64_t key_size;   /* dk */
  int64_t value_size; /* dv */

  /* Whatever the layout, shape and strides of these are those of the axes [B, H, S, D]. */
  const struct gqa_kernel_tensor* query;      /* [B, Hq, T, dk] */
  const struct gqa_kernel_tensor* key;        /* [B, Hkv, S, dk] */
  const struct gqa_kernel_tensor* value;      /* [B, Hkv, S, dv] */
  const struct gqa_kernel_tensor* past_key;   /* [B, Hkv, P, dk], BHSD in memory, or null */
  const struct gqa_kernel_tensor* past_value; /* [B, Hkv, P, dv], BHSD in memory, or null */
  const struct gqa_kernel_tensor* output;     /* [B, Hq, T, dv]: every element is to be written */

  /* Boolean (true attends) or floating point (added to the score; minus infinity hides the key).
   * Rank 1 to 4, broadcast to [B, Hq, T, P + S] as numpy does; a last axis longer than 1 and
   * shorter than P + S hides the keys beyond it. */
  const struct gqa_kernel_tensor* attn_mask;
  const struct gqa_kernel_tensor* nonpad_kv_seqlen; /* [B] int32 or int64 */
  const struct gqa_kernel_tensor* sink;             /* [Hq] floating point */
  const struct gqa_kernel_tensor* alibi_slopes;     /* [Hq] or [B, Hq]; THD: or [documents, Hq] */
  const struct gqa_kernel_tensor* cu_seqlens_q;     /* [documents + 1] int32 or int64 */
  const struct gqa_kernel_tensor* cu_seqlens_k;     /* the same; null: as cu_seqlens_q */

  int32_t layout;           /* enum gqa_layout */
  int32_t head_map_kind;    /* enum gqa_head_map */
  const int64_t* head_map;  /* [Hq] for GQA_HEAD_MAP_LIST, otherwise null */
  int32_t has_scale;        /* 0: the scale is 1 / sqrt(dk) */
  int32_t causal;           /* 1: key j is visible only if j <= position of the query */
  double scale;             /* if has_scale */
  int32_t causal_alignment; /* enum gqa_causal_alignment; also of window and ALiBi */
  int32_t empty_row;        /* enum gqa_empty_row */
  int64_t window_left;      /* position - left <= j <= position + right; -1: unbounded,
                               otherwise at most queries + past + keys: sums do not overflow */
  int64_t window_right;
  double softcap; /* c > 0: score = c * tanh(score / c); 0: off */
};

/* What a kernel can do beyond query, key, value and output in one type. */
enum gqa_kernel_feature {
  GQA_FEATURE_CAUSAL = 1 << 0,
  GQA_FEATURE_WINDOW = 1 << 1,
  GQA_FEATURE_SOFTCAP = 1 << 2,
  GQA_FEATURE_MASK_BOOLEAN = 1 << 3,
  GQA_FEATURE_MASK_FLOAT = 1 << 4,
  GQA_FEATURE_ALIBI = 1 << 5,
  GQA_FEATURE_SINK = 1 << 6,
  GQA_FEATURE_PAST = 1 << 7,
  GQA_FEATURE_LENGTHS = 1 << 8,
  GQA_FEATURE_PACKED = 1 << 9,      /* layout THD with cu_seqlens */
  GQA_FEATURE_STRIDED = 1 << 10,    /* rows that do not lie one behind the other */
  GQA_FEATURE_VALUE_SIZE = 1 << 11, /* dv != dk */
  GQA_FEATURE_HEAD_MAP = 1 << 12,   /* head maps other than contiguous */
  GQA_FEATURE_SCALE = 1 << 13,      /* a given scale */
  GQA_FEATURE_EMPTY_ROW = 1 << 14,  /* every empty-row policy; without it: zero */
  GQA_FEATURE_MIXED_TYPES = 1 << 15 /* key, value or output in another type than query */
};

struct gqa_kernel_info {
  uint32_t struct_size;   /* set by the caller; the kernel writes only what lies within */
  uint32_t abi_version;   /* GQA_KERNEL_ABI_VERSION that the kernel was built with */
  char name[64];          /* ends with a zero byte */
  uint64_t features;      /* of enum gqa_kernel_feature */
  uint32_t element_types; /* bit 1 << type for every enum gqa_element_type of query and output */
  uint32_t layouts;       /* bit 1 << layout for every enum gqa_layout */
  int64_t max_queries;    /* largest T, P + S, dk and dv; 0: no limit */
  int64_t max_keys;
  int64_t max_key_size;
  int64_t max_value_size;
};

/* The functions of the shared object. */

/* Fills *info, which the caller has zeroed but for struct_size. Returns GQA_KERNEL_OK. */
GQA_KERNEL_API int gqa_kernel_capabilities(struct gqa_kernel_info* info);

/* Writes problem->output. Returns GQA_KERNEL_OK, GQA_KERNEL_UNSUPPORTED, or an error. */
GQA_KERNEL_API int gqa_kernel_run(const struct gqa_kernel_problem* problem);

/* Optional. Sets the kernel's own options, in its own words, for all later calls; the options set
 * before are forgotten. Returns GQA_KERNEL_OK, or an error for options that it does not know. */
GQA_KERNEL_API int gqa_kernel_configure(const char* options);

#ifdef __cplusplus
}
#endif

#endif
