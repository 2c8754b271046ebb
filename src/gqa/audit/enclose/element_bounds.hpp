// What a tolerance allows single elements, in ulp.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gqa/attention/attention_problem.hpp"
#include "gqa/audit/decide/tolerance.hpp"

namespace gqa {

/// How far one element may be from the exact value, in ulp of the output's format there; upper
/// ends of enclosures, infinity where nothing bounds it.
struct ElementBounds {
  std::array<std::int64_t, 4> index{};  ///< [b, h, i, c]
  double allowed = 0;                   ///< the tolerance; of a model: its likely bound
  std::optional<double> worst;          ///< of a model: what its worst case explains
};

/// The bounds of these elements, in rising order of index. Left out: elements of rows that see no
/// key or read what is not finite, and those whose history is larger than `largest_history`
/// numbers, or beyond the first histories that together reach four times that.
/// Precondition: the indices exist, and the problem has an output.
std::vector<ElementBounds> element_bounds(const AttentionProblem& problem,
                                          const Tolerance& tolerance,
                                          std::span<const std::array<std::int64_t, 4>> indices,
                                          std::int64_t largest_history = std::int64_t{1} << 20);

}  // namespace gqa
