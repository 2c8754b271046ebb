// The group of heads whose ranks are asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gqa/attention/contract.hpp"

namespace gqa {

/// One group: G query heads that share one history of N positions.
struct RankConfiguration {
  std::int64_t group_size = 0;             ///< G
  std::int64_t positions = 0;              ///< N, queries and keys alike
  std::int64_t value_size = 0;             ///< d_v
  std::int64_t key_size = 0;               ///< d_k
  std::optional<std::int64_t> model_size;  ///< d_model; nullopt: heads are not projected
  bool causal = false;
  std::optional<std::int64_t> window;  ///< keys j with |i - j| < window
  bool tied = false;                   ///< all heads have one attention pattern
  bool constant_column = false;        ///< the last value coordinate is 1 at every position
  bool softmax_reachable = false;      ///< witnesses by queries of d_k coordinates, shared keys

  /// Columns of one projected head: min(d_v, d_model).
  std::int64_t head_size() const;
};

/// The largest G, N and sizes that are accepted, and the largest N * G * d_v.
inline constexpr std::int64_t largest_rank_extent = 65536;
inline constexpr std::int64_t largest_rank_elements = std::int64_t{1} << 25;

/// Errors: InputError at the field's name: "rank.extent" (not in 1..largest_rank_extent),
/// "rank.window" (below 1), "rank.too_large".
void validate(const RankConfiguration& configuration);

/// The window alone. Errors: "rank.window".
void validate_window(const RankConfiguration& configuration);

/// "8 query heads on one history of 128 positions, values of 16".
std::string describe(const RankConfiguration& configuration);

/// What the patterns may see, as a contract: causal and window.
/// Precondition: validate_window.
Contract visibility_contract(const RankConfiguration& configuration);

}  // namespace gqa
