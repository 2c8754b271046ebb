// For each fault a minimal distinguishing input, with the right and the wrong output, by hand from
// the formulas of docs/faults.md. "base 2": scores are multiples of ln 2, so that weights are
// fractions.
#pragma once

#include <numbers>
#include <string>
#include <vector>

#include "gqa/kernel/host.hpp"
#include "support/typed.hpp"

namespace gqa::test {

/// Operands in memory order; an empty query or key is zeros, an empty optional one is absent.
struct FaultInput {
  std::int64_t batch = 1;
  std::int64_t q_heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t queries = 1;
  std::int64_t keys = 1;
  std::int64_t past = 0;
  std::int64_t key_size = 1;
  std::int64_t value_size = 1;
  std::vector<double> query = {};
  std::vector<double> key = {};
  std::vector<double> value = {};
  std::vector<double> past_value = {};
  Shape mask_shape = {};
  std::vector<std::uint64_t> mask = {};  ///< boolean
  std::vector<std::uint64_t> lengths = {};
  std::vector<double> sink = {};
  std::vector<double> slopes = {};
  std::vector<std::uint64_t> documents = {};  ///< cu_seqlens
  Layout layout = Layout::bhsd;
  bool causal = false;
  CausalAlignment alignment = CausalAlignment::bottom_right;
  Window window = {};
  std::optional<Rational> scale = {};
  Rational softcap = 0;
  std::int64_t key_row_stride_factor = 1;
};

struct FaultCase {
  std::string slug;
  FaultInput input;
  std::vector<double> right;  ///< in memory order; the first elements, if not all
  std::vector<double> wrong;
};

inline constexpr double ln2 = std::numbers::ln2;

std::vector<FaultCase> head_map_cases();
std::vector<FaultCase> causal_and_window_cases();
std::vector<FaultCase> mask_and_length_cases();
std::vector<FaultCase> score_cases();
std::vector<FaultCase> softmax_cases();
std::vector<FaultCase> merge_and_sink_cases();
std::vector<FaultCase> layout_cases();

}  // namespace gqa::test
