// Which rows of an output are audited: all of them, or a random sample.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gqa/attention/attention_problem.hpp"

namespace gqa {

/// Query rows [begin, end) of one query head.
struct RowRun {
  std::int64_t head = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
};

/// A random choice of output rows; a row is one of (batch entry, query head, query row).
struct RowSample {
  std::int64_t rows = 0;   ///< how many; all where there are not more
  std::uint64_t seed = 0;  ///< the same seed chooses the same rows, on every machine
};

/// The rows of an output [B, Hq, T, ...]: B Hq T.
std::int64_t row_count(const Dimensions& dimensions);

/// min(sample.rows, of) different numbers of [0, of), rising. Every such set is equally likely
/// up to the generator.
///
/// Method: Floyd's (J. Bentley, R. Floyd, "A sample of brilliance", CACM 30(9), 1987), with
/// SplitMix64 (G. Steele, D. Lea, C. Flood, OOPSLA 2014; state = seed) and numbers below n by
/// rejection: draws under 2^64 mod n are thrown away, the others taken modulo n. Nothing
/// of it depends on the standard library.
std::vector<std::int64_t> sampled_numbers(const RowSample& sample, std::int64_t of);

/// The chosen rows of every history b * Hkv + kv_head, by head, then row; all without a
/// sample. A row's number in the sample is (b * Hq + head) * T + row.
std::vector<std::vector<RowRun>> selected_rows(const AttentionProblem& problem,
                                               const std::optional<RowSample>& sample);

/// Joins runs that follow each other in one head.
void append_run(std::vector<RowRun>& runs, RowRun run);

}  // namespace gqa
