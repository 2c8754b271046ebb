// Cases of scores, softmax, merges, sinks and layouts.
#include <cmath>

#include "kernel/fault_cases.hpp"
#include "support/numbers.hpp"

namespace gqa::test {
namespace {

std::vector<double> repeated(double value, std::size_t count) {
  return std::vector<double>(count, value);
}

/// Keys 0 and the first unit vector, values 0 and 1 in column 0, in d = 4; base 2. Every query
/// head has (q, 0, 0, 0), so that the second key's raw score is q.
FaultInput scaled(double q, std::int64_t q_heads = 1, std::int64_t value_size = 1) {
  FaultInput input{.q_heads = q_heads,
                   .keys = 2,
                   .key_size = 4,
                   .value_size = value_size,
                   .key = {0, 0, 0, 0, 1, 0, 0, 0}};
  for (std::int64_t h = 0; h < q_heads; ++h) {
    for (const double element : {q * ln2, 0.0, 0.0, 0.0}) input.query.push_back(element);
  }
  input.value.assign(static_cast<std::size_t>(2 * value_size), 0);
  input.value[static_cast<std::size_t>(value_size)] = 1;
  return input;
}

}  // namespace

std::vector<FaultCase> score_cases() {
  FaultInput passed = scaled(2);
  passed.scale = 1;
  FaultInput hidden{.keys = 2, .value = {0, 1}, .mask_shape = {1, 2}, .mask = {1, 0}};
  hidden.softcap = Rational(ln2);
  FaultInput realistic = hidden;
  realistic.softcap = 50;
  realistic.scale = 1;
  realistic.query = {-10000};
  realistic.key = {1, 0};
  return {
      {"scale.missing", scaled(2), {2.0 / 3}, {0.8}},
      {"scale.twice", scaled(4), {0.8}, {2.0 / 3}},
      {"scale.model_width", scaled(8, 16), repeated(16.0 / 17, 16), repeated(2.0 / 3, 16)},
      {"scale.head_count", scaled(8, 16), repeated(16.0 / 17, 16), repeated(0.8, 16)},
      {"scale.value_size", scaled(4, 1, 16), {0.8}, {2.0 / 3}},
      {"scale.argument_ignored", passed, {0.8}, {2.0 / 3}},
      {"scale.on_weights", {.keys = 2, .key_size = 4, .value = {1, 1}}, {1}, {0.5}},
      {"softcap.missing",
       {.keys = 2,
        .query = {10000 * ln2},
        .key = {0, 1},
        .value = {0, 1},
        .scale = 1,
        .softcap = Rational(ln2)},
       {2.0 / 3},
       {1}},
      {"softcap.after_mask", hidden, {0}, {1.0 / 3}},
      {"softcap.after_mask", realistic, {0}, {0.5}},
      // x = 2, c = 1: sigmoid of tanh(2), and of 2 tanh(2).
      {"softcap.tanh_product",
       {.keys = 2, .query = {2}, .key = {0, 1}, .value = {0, 1}, .scale = 1, .softcap = 1},
       {1 / (1 + std::exp(-std::tanh(2.0)))},
       {1 / (1 + std::exp(-2 * std::tanh(2.0)))}},
      {"softcap.overflow",
       {.keys = 2, .query = {4480}, .key = {1, 1}, .value = {0, 1}, .scale = 1, .softcap = 50},
       {0.5},
       {not_a_number}},
      {"bias.alibi_missing", {.keys = 2, .value = {1, 0}, .slopes = {ln2}}, {1.0 / 3}, {0.5}},
      {"bias.alibi_exponent",
       {.q_heads = 8,
        .keys = 3,
        .value = {1, 0, 0},
        .mask_shape = {1, 3},
        .mask = {1, 0, 1},
        .slopes = {ln2 / 2, ln2 / 4, ln2 / 8, ln2 / 16, ln2 / 32, ln2 / 64, ln2 / 128, ln2 / 256}},
       {1.0 / 3},
       {0.2}},
      // ALiBi's slopes of 3 heads are 2^-4, 2^-8 and 2^-2;
      // keys at distance 1 and 0; base e, since the slopes are replaced as they are.
      {"bias.alibi_power_of_two",
       {.q_heads = 3, .keys = 2, .value = {1, 0}, .slopes = {0.0625, 0.00390625, 0.25}},
       {1 / (1 + std::exp(0.0625)), 1 / (1 + std::exp(0.00390625)), 1 / (1 + std::exp(0.25))},
       {1 / (1 + std::exp(std::exp2(-8.0 / 3))), 1 / (1 + std::exp(std::exp2(-16.0 / 3))),
        1 / (1 + std::exp(0.00390625))}},
  };
}

std::vector<FaultCase> softmax_cases() {
  // Blocks are [0, 2), [2, 4), of two equal keys each.
  const FaultInput blocks{
      .keys = 4, .query = {ln2}, .key = {0, 0, 1, 1}, .value = {0, 0, 1, 1}, .scale = 1};
  const auto ones = [](std::size_t keys) {
    return FaultInput{.keys = static_cast<std::int64_t>(keys), .value = repeated(1, keys)};
  };
  return {
      {"softmax.no_max_subtraction",
       {.keys = 2, .query = {89}, .key = {1, 1}, .value = {0, 1}, .scale = 1},
       {0.5},
       {not_a_number}},
      {"softmax.not_rescaled", blocks, {2.0 / 3}, {0.5}},
      {"softmax.rescale_inverted", blocks, {2.0 / 3}, {1.0 / 3}},
      {"softmax.query_axis", {.keys = 2, .value = {1, 1}}, {1}, {2}},
      {"softmax.bfloat16_sum", ones(512), {1}, {0.5}},
      {"softmax.bfloat16_sum", ones(4096), {1}, {1.0 / 16}},
      {"softmax.binary16_sum", ones(4096), {1}, {0.5}},
      {"softmax.dot_overflow",
       {.keys = 2,
        .key_size = 4,
        .query = repeated(128, 4),
        .key = repeated(128, 8),
        .value = {0, 1}},
       {0.5},
       {not_a_number}},
  };
}

std::vector<FaultCase> merge_and_sink_cases() {
  const FaultInput four_and_one{.keys = 5, .value = {0, 0, 0, 0, 1}};
  const FaultInput strong_sink{.value = {1}, .sink = {ln2}};
  const FaultInput zero_sink{.value = {1}, .sink = {0}};
  return {
      {"merge.lse_base", four_and_one, {0.2}, {1 / (1 + std::exp(2.0))}},
      {"merge.unweighted", four_and_one, {0.2}, {0.5}},
      {"merge.group_partly_split",
       {.q_heads = 2, .keys = 2, .value = {0, 1}},
       {0.5, 0.5},
       {0.5, 0}},
      {"sink.dropped", strong_sink, {1.0 / 3}, {1}},
      {"sink.dropped", zero_sink, {0.5}, {1}},
      // The sink carries what key 0 does.
      {"sink.with_value", strong_sink, {1.0 / 3}, {1}},
      {"sink.empty_tile",
       {.keys = 5,
        .value = {0, 0, 0, 0, 1},
        .mask_shape = {1, 5},
        .mask = {0, 0, 0, 0, 1},
        .sink = {ln2}},
       {1.0 / 3},
       {not_a_number}},
  };
}

std::vector<FaultCase> layout_cases() {
  const FaultInput by_position{.q_heads = 2,
                               .kv_heads = 2,
                               .queries = 2,
                               .keys = 2,
                               .value = {0, 4, 2, 10},
                               .layout = Layout::bshd};
  FaultInput folded = by_position;
  folded.layout = Layout::bsh;
  // Rows 1 to 8 of a fused projection, in groups [q0 q1 k0 v0 q2 q3 k1 v1] and in sections.
  const FaultInput groups{
      .q_heads = 4, .kv_heads = 2, .query = {1, 2, 5, 6}, .key = {3, 7}, .value = {4, 8}};
  const FaultInput sections{
      .q_heads = 4, .kv_heads = 2, .query = {1, 2, 3, 4}, .key = {5, 6}, .value = {7, 8}};
  return {
      {"layout.bshd_as_bhsd", by_position, {1, 7, 1, 7}, {2, 2, 6, 6}},
      // The numbers of the case before, with the output written right.
      {"layout.reshape_without_transpose", folded, {1, 7, 1, 7}, {2, 6, 2, 6}},
      {"layout.value_stride_key_size",
       {.keys = 2, .value_size = 2, .value = {1, 2, 3, 4}},
       {2, 3},
       {1.5, 2.5}},
      // What lies out of range reads as 0.
      {"layout.batch_stride_from_query",
       {.batch = 3, .q_heads = 2, .value = {0, 1, 2}},
       {0, 0, 1, 1, 2, 2},
       {0, 0, 2, 2, 0, 0}},
      {"layout.fused_groups_as_sections", groups, {4, 4, 8, 8}, {7, 7, 8, 8}},
      {"layout.fused_sections_as_groups", sections, {7, 7, 8, 8}, {4, 4, 8, 8}},
      {"layout.value_strides_of_key",
       {.keys = 2, .value = {0, 8}, .key_row_stride_factor = 2},
       {4},
       {0}},
      {"layout.head_size_fixed", {.value_size = 2, .value = {1, 2}}, {1, 2}, {1, 0}},
  };
}

}  // namespace gqa::test
