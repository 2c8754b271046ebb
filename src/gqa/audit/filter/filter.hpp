// Rung 1 of the certified audit: the binary64 reference through BLAS, with a radius for
// every element from an a-priori bound (docs/theory.md, "Rung 1: the filter"; derived in
// filter_bound.hpp).
#pragma once

#include <cstdint>
#include <functional>

#include "gqa/attention/attention_problem.hpp"
#include "gqa/audit/filter/filter_tile_result.hpp"

namespace gqa {

/// The number of tiles that a problem is cut into; independent of the number of threads.
std::int64_t filter_tile_count(const AttentionProblem& problem, const FilterOptions& options = {});

/// Computes the reference tile by tile and hands every tile to `consume`, which is called
/// from several threads at once, in no order. Every row of every query head, or every row of
/// the sample, is in exactly one tile.
///
/// Result: for every row that is not open, radius() encloses the exact output of docs/contract.md.
/// Bit for bit the same for every number of threads if the BLAS is deterministic.
/// Memory: some MiB per thread; it does not grow with T or S.
/// Errors: std::runtime_error if the processor flushes subnormals or does not round to
/// nearest (FilterOptions::radius only); InputError "filter.options" at the option's name.
void filter_reference(const AttentionProblem& problem, const FilterOptions& options,
                      const std::function<void(const FilterTile&)>& consume);

}  // namespace gqa
