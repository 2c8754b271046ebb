/* The attention contract's rules, one function each, as the example kernels apply them. */
#ifndef GQA_TEST_KERNELS_RULES_H
#define GQA_TEST_KERNELS_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "gqa/kernel/abi.h"

/* A batch entry, or a document of the packed layout: rows that attend to each other. */
struct segment {
  int64_t batch;       /* index on the batch axis; packed: 0 */
  int64_t slopes;      /* row of alibi_slopes [., Hq] */
  int64_t query_begin; /* first row on the query's and output's axis */
  int64_t queries;     /* T */
  int64_t key_begin;   /* first row on the new keys' axis */
  int64_t past;        /* P */
  int64_t keys;        /* P + S */
  int64_t length;      /* visible keys: nonpad_kv_seqlen, or P + S */
  int64_t offset;      /* position of a row is its index + offset */
};

int64_t segment_count(const struct gqa_kernel_problem* p);
struct segment segment_at(const struct gqa_kernel_problem* p, int64_t n);

int64_t kv_head_of(const struct gqa_kernel_problem* p, int64_t head);
double scale_of(const struct gqa_kernel_problem* p);

/* Causal and window; `position` is that of the query row. */
bool causal_allows(const struct gqa_kernel_problem* p, int64_t position, int64_t key);
bool window_allows(const struct gqa_kernel_problem* p, int64_t position, int64_t key);
/* Does attn_mask show the key? *bias is what a floating-point mask adds to the score, or 0. */
bool mask_allows(const struct gqa_kernel_problem* p, int64_t batch, int64_t head, int64_t row,
                 int64_t key, double* bias);

/* 0 without alibi_slopes. */
double slope_of(const struct gqa_kernel_problem* p, int64_t slopes_row, int64_t head);
/* False without a sink; minus infinity is none. */
bool sink_of(const struct gqa_kernel_problem* p, int64_t head, double* logit);

/* GQA_KERNEL_OK if all types and enumerators of the problem are known here. */
int check_problem(const struct gqa_kernel_problem* p);
/* What all kernels here can do; `name` has at most 63 bytes. */
int describe_kernel(struct gqa_kernel_info* info, const char* name);

#endif
