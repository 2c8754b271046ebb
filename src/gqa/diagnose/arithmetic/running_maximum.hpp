// The keys over which a kernel takes one maximum before it rescales its sums.
#pragma once

#include <cstdint>
#include <optional>

#include "gqa/diagnose/arithmetic/experiments.hpp"

namespace gqa {

/// What one row shows of the running maximum.
struct MaximumScope {
  /// Keys from key 0 on that share their first maximum; 0: there is no boundary below `searched`.
  std::int64_t keys = 0;
  std::int64_t searched = 0;
  std::int64_t total = 0;  ///< keys of the problem
};

/// Key 0 scores 0, key 1 scores 60, and later keys one after the other 120. exp(-120) is zero in
/// binary32 and exp(-60) exp(-60) is not as long as it is a large value that is multiplied twice:
/// the output is not zero exactly where key 0 was weighted under the maximum 60 and rescaled later.
/// In binary16, whose exponents are narrow: 9 and 18. Where weights are so narrow that exp(-60) is
/// zero, too: key 1 scores 0, and the later key 20.
///
/// nullopt: the kernel refused it, or its weights hold the smaller exponential as well, so that
/// nothing is seen. 2 or 3 calls.
std::optional<MaximumScope> read_maximum_scope(Experiments& experiments, std::int64_t total);

}  // namespace gqa
