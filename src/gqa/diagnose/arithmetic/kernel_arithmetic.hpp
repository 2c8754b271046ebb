// The arithmetic of a live kernel, read off as a black box.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gqa/diagnose/arithmetic/entry.hpp"
#include "gqa/diagnose/arithmetic/experiments.hpp"

namespace gqa {

struct KernelArithmetic {
  /// Empty: nothing was read, see `reason`. What differs between calls of one query row and of a
  /// block of them is there twice, "tile of keys (1 query row)" and "tile of keys (64 query rows)".
  std::vector<ArithmeticEntry> entries;
  std::vector<std::int64_t> query_rows;  ///< of the calls that it was read in: {1, 64}
  std::int64_t calls = 0;                ///< of the kernel
  std::string reason;

  /// The entry of that name, or null.
  const ArithmeticEntry* find(std::string_view entry) const;
};

/// Reads how a kernel computes: the order, tiles and splits of its sums over keys, their
/// accumulator and its rounding, the same over dk, the formats of operands, scores, weights and the
/// exponential, the place of the scale, the base of the exponential, the division and subnormal
/// numbers. What the probes cannot tell apart is `open` and names every answer that fits among
/// those that are listed; what fits none of them is not identifiable.
///
/// The kernel must follow the plain contract softmax(q k^T / sqrt(dk)) v: read `identify` first, a
/// kernel with a wrong scale is read wrongly. Types: binary32, binary16 and bfloat16; others are
/// not read, with a reason. `runner` may put each call in any way it likes; about 20 calls for each
/// number of query rows, more where few rows or columns fit into one.
///
/// It is read twice, in calls of one query row and of 64, since kernels decode in another way than
/// they prefill: one table for both would be of no call that anybody makes. `limits.rows` asks for
/// one number of rows alone.
///
/// Source of the probes for orders of summation: Xie et al., "FPRev", USENIX ATC 2025.
KernelArithmetic read_arithmetic(const ProbeRunner& runner, ElementType type,
                                 const ExperimentLimits& limits = {});

/// The same after the probes of the contract: nothing is read of a kernel that fails one that
/// states no rule, unless a narrow running sum explains it alone. What it does with masks, windows
/// and other rules is not asked here.
KernelArithmetic read_arithmetic(const ProbeReport& report, const ProbeRunner& runner,
                                 const ExperimentLimits& limits = {});

}  // namespace gqa
