// Cases of head maps and of visible keys.

#include "kernel/fault_cases.hpp"
#include "support/numbers.hpp"

namespace gqa::test {
namespace {

constexpr CausalAlignment top_left = CausalAlignment::top_left;

const std::vector<double> unit_3{1, 0, 0, 0, 1, 0, 0, 0, 1};

}  // namespace

std::vector<FaultCase> head_map_cases() {
  // Zero queries on one key, whose value is the number of its KV head.
  const FaultInput two_of_four{.q_heads = 4, .kv_heads = 2, .value = {0, 1}};
  const FaultInput two{.q_heads = 2, .kv_heads = 2, .value = {0, 1}};
  FaultInput repeated{.q_heads = 2, .queries = 2, .keys = 2, .value = {0, 1}, .causal = true};
  FaultInput repeated_top_left = repeated;
  repeated_top_left.alignment = top_left;
  return {
      {"head_map.tiled", two_of_four, {0, 0, 1, 1}, {0, 1, 0, 1}},
      {"head_map.single_kv_head", two, {0, 1}, {0, 0}},
      {"head_map.key_tiled",
       {.q_heads = 4,
        .kv_heads = 2,
        .keys = 2,
        .query = {ln2, ln2, ln2, ln2},
        .key = {0, 1, 1, 0},
        .value = {0, 1, 0, 1},
        .scale = 1},
       {2.0 / 3, 2.0 / 3, 1.0 / 3, 1.0 / 3},
       {2.0 / 3, 1.0 / 3, 2.0 / 3, 1.0 / 3}},
      {"head_map.value_tiled", two_of_four, {0, 0, 1, 1}, {0, 1, 0, 1}},
      {"head_map.sequence_repeated", repeated, {0, 0.5, 0, 0.5}, {1.0 / 3, 0.5, 1.0 / 3, 0.5}},
      {"head_map.sequence_repeated", repeated_top_left, {0, 0.5, 0, 0.5}, {0, 0, 0, 0}},
      {"head_map.first_shard", two, {0, 1}, {0, 0}},
      {"head_map.replica_modulo", two_of_four, {0, 0, 1, 1}, {0, 1, 0, 1}},
  };
}

std::vector<FaultCase> causal_and_window_cases() {
  const FaultInput one_of_two{.keys = 2, .value = {0, 1}, .causal = true};
  FaultInput one_of_two_top_left = one_of_two;
  one_of_two_top_left.alignment = top_left;
  const FaultInput square{.queries = 2, .keys = 2, .value = {0, 1}, .causal = true};
  FaultInput bidirectional = square;
  bidirectional.causal = false;
  FaultInput grouped = square;
  grouped.q_heads = 2;
  const auto window = [](std::int64_t left) {
    FaultInput input{.queries = 3, .keys = 3, .value_size = 3, .value = unit_3, .causal = true};
    input.window.left = left;
    return input;
  };
  return {
      {"causal.top_left", one_of_two, {0.5}, {0}},
      {"causal.bottom_right", one_of_two_top_left, {0}, {0.5}},
      {"causal.clamped", {.queries = 2, .value = {1}, .causal = true}, {0, 1}, {1, 1}},
      {"causal.only_square",
       {.queries = 2, .keys = 3, .value = {0, 0, 3}, .causal = true},
       {0, 1},
       {1, 1}},
      {"causal.missing", square, {0, 0.5}, {0.5, 0.5}},
      {"causal.row_over_group", grouped, {0, 0.5, 0, 0.5}, {0, 0, 0, 0}},
      {"causal.undeclared", bidirectional, {0.5, 0.5}, {0, 0.5}},
      {"causal.ignores_past",
       {.past = 1,
        .value = {1},
        .past_value = {0},
        .causal = true,
        .alignment = CausalAlignment::onnx},
       {0.5},
       {0}},
      // Window of W keys: left W - 1. The rows before the last are those of the formula.
      {"window.one_wide", window(0), unit_3, {1, 0, 0, 0.5, 0.5, 0, 0, 0.5, 0.5}},
      {"window.one_narrow", window(1), {1, 0, 0, 0.5, 0.5, 0, 0, 0.5, 0.5}, unit_3},
      {"window.ignored", window(0), unit_3, {1, 0, 0, 0.5, 0.5, 0, 1.0 / 3, 1.0 / 3, 1.0 / 3}},
      {"window.ring_start",
       {.keys = 2, .value = {1, 3}, .causal = true, .window = {1, -1}},
       {2},
       {3}},
      {"window.first_block_unbounded", square, {0, 0.5}, {0.5, 0.5}},
  };
}

std::vector<FaultCase> mask_and_length_cases() {
  const FaultInput first_kept{.keys = 2, .value = {0, 1}, .mask_shape = {1, 2}, .mask = {1, 0}};
  FaultInput poisoned_value = first_kept;
  poisoned_value.value = {0, not_a_number};
  FaultInput poisoned_key = first_kept;
  poisoned_key.key = {0, not_a_number};
  const FaultInput none_kept{.keys = 2, .value = {0, 2}, .mask_shape = {1, 2}, .mask = {0, 0}};
  return {
      {"mask.inverted", first_kept, {0}, {1}},
      // The mask's 1 is added as it is, so that the base is e, as the catalogue's note says.
      {"mask.added_as_bias", first_kept, {0}, {1 / (1 + std::numbers::e)}},
      {"mask.zero_fill", first_kept, {0}, {0.5}},
      // Row 0 lies before all keys, and the mask hides its only key as well.
      {"mask.saturated_planes",
       {.queries = 2, .value = {1}, .mask_shape = {2, 1}, .mask = {0, 1}, .causal = true},
       {0, 1},
       {not_a_number, 1}},
      {"mask.empty_row_nan", none_kept, {0}, {not_a_number}},
      {"mask.empty_row_mean", none_kept, {0}, {1}},
      {"mask.kv_head_indexed",
       {.q_heads = 2, .keys = 2, .value = {0, 1}, .mask_shape = {1, 2, 1, 2}, .mask = {1, 0, 0, 1}},
       {0, 1},
       {0, 0}},
      {"mask.ignored", first_kept, {0}, {0.5}},
      {"mask.value_leak", poisoned_value, {0}, {not_a_number}},
      {"mask.key_leak", poisoned_key, {0}, {not_a_number}},
      {"length.capacity", {.keys = 2, .value = {0, 1}, .lengths = {1}}, {0}, {0.5}},
      {"length.one_short", {.keys = 2, .value = {0, 1}, .lengths = {2}}, {0.5}, {0}},
      {"length.history_zeros", {.keys = 2, .value = {1, 1}}, {1}, {0.5}},
      {"length.documents_mixed",
       {.queries = 2,
        .keys = 2,
        .value = {0, 1},
        .documents = {0, 1, 2},
        .layout = Layout::thd,
        .causal = true},
       {0, 1},
       {0, 0.5}},
      {"length.past_dropped", {.past = 1, .value = {1}, .past_value = {0}}, {0.5}, {1}},
  };
}

}  // namespace gqa::test
