/* The faults that the faulty kernel can be given, one switch each; several may be on at once.
 * The names are those of the diagnosis; what each does is said where it is done. */
#ifndef GQA_TEST_KERNELS_FAULTS_H
#define GQA_TEST_KERNELS_FAULTS_H

#include <stdbool.h>

#define GQA_FAULTS(X)                                             \
  X(head_map_tiled, "head_map.tiled")                             \
  X(head_map_single, "head_map.single_kv_head")                   \
  X(head_map_key_tiled, "head_map.key_tiled")                     \
  X(head_map_value_tiled, "head_map.value_tiled")                 \
  X(head_map_sequence, "head_map.sequence_repeated")              \
  X(head_map_first_shard, "head_map.first_shard")                 \
  X(head_map_replica, "head_map.replica_modulo")                  \
  X(causal_top_left, "causal.top_left")                           \
  X(causal_bottom_right, "causal.bottom_right")                   \
  X(causal_clamped, "causal.clamped")                             \
  X(causal_only_square, "causal.only_square")                     \
  X(causal_missing, "causal.missing")                             \
  X(causal_row_over_group, "causal.row_over_group")               \
  X(causal_undeclared, "causal.undeclared")                       \
  X(causal_ignores_past, "causal.ignores_past")                   \
  X(window_wide, "window.one_wide")                               \
  X(window_narrow, "window.one_narrow")                           \
  X(window_ignored, "window.ignored")                             \
  X(window_ring_start, "window.ring_start")                       \
  X(window_first_block, "window.first_block_unbounded")           \
  X(mask_inverted, "mask.inverted")                               \
  X(mask_added, "mask.added_as_bias")                             \
  X(mask_zero_fill, "mask.zero_fill")                             \
  X(mask_saturated, "mask.saturated_planes")                      \
  X(mask_empty_nan, "mask.empty_row_nan")                         \
  X(mask_empty_mean, "mask.empty_row_mean")                       \
  X(mask_kv_head, "mask.kv_head_indexed")                         \
  X(mask_ignored, "mask.ignored")                                 \
  X(mask_value_leak, "mask.value_leak")                           \
  X(mask_key_leak, "mask.key_leak")                               \
  X(length_capacity, "length.capacity")                           \
  X(length_short, "length.one_short")                             \
  X(length_history, "length.history_zeros")                       \
  X(length_documents, "length.documents_mixed")                   \
  X(length_past_dropped, "length.past_dropped")                   \
  X(scale_missing, "scale.missing")                               \
  X(scale_twice, "scale.twice")                                   \
  X(scale_model_width, "scale.model_width")                       \
  X(scale_head_count, "scale.head_count")                         \
  X(scale_value_size, "scale.value_size")                         \
  X(scale_argument, "scale.argument_ignored")                     \
  X(scale_on_weights, "scale.on_weights")                         \
  X(softcap_missing, "softcap.missing")                           \
  X(softcap_after_mask, "softcap.after_mask")                     \
  X(softcap_product, "softcap.tanh_product")                      \
  X(softcap_overflow, "softcap.overflow")                         \
  X(bias_missing, "bias.alibi_missing")                           \
  X(bias_exponent, "bias.alibi_exponent")                         \
  X(bias_power_of_two, "bias.alibi_power_of_two")                 \
  X(softmax_no_max, "softmax.no_max_subtraction")                 \
  X(softmax_not_rescaled, "softmax.not_rescaled")                 \
  X(softmax_inverted, "softmax.rescale_inverted")                 \
  X(softmax_query_axis, "softmax.query_axis")                     \
  X(softmax_bfloat16, "softmax.bfloat16_sum")                     \
  X(softmax_binary16, "softmax.binary16_sum")                     \
  X(softmax_dot_overflow, "softmax.dot_overflow")                 \
  X(merge_lse_base, "merge.lse_base")                             \
  X(merge_unweighted, "merge.unweighted")                         \
  X(merge_partly_split, "merge.group_partly_split")               \
  X(sink_dropped, "sink.dropped")                                 \
  X(sink_value, "sink.with_value")                                \
  X(sink_empty_tile, "sink.empty_tile")                           \
  X(layout_bshd, "layout.bshd_as_bhsd")                           \
  X(layout_reshape, "layout.reshape_without_transpose")           \
  X(layout_value_key_size, "layout.value_stride_key_size")        \
  X(layout_batch_stride, "layout.batch_stride_from_query")        \
  X(layout_groups_as_sections, "layout.fused_groups_as_sections") \
  X(layout_sections_as_groups, "layout.fused_sections_as_groups") \
  X(layout_value_key_strides, "layout.value_strides_of_key")      \
  X(layout_head_size, "layout.head_size_fixed")

#define GQA_FAULT_ENUMERATOR(id, slug) fault_##id,
enum fault { GQA_FAULTS(GQA_FAULT_ENUMERATOR) fault_count };
#undef GQA_FAULT_ENUMERATOR

bool has(enum fault fault);

/* Switches on the faults of a comma-separated list, all others off; "" is the right kernel.
 * False, changing nothing, if a name is not known. */
bool set_faults(const char* list);

#endif
