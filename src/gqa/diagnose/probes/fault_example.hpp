// The smallest probe on which a fault shows, with the right and the wrong output.
#pragma once

#include <optional>
#include <vector>

#include "gqa/diagnose/faults/fault.hpp"
#include "gqa/diagnose/probes/probe.hpp"

namespace gqa {

/// One output row of a problem, as the contract and as the fault have it.
struct FaultExample {
  Probe probe;  ///< in binary32; its output is a placeholder
  Fault fault;
  std::int64_t batch = 0, head = 0, row = 0;
  std::vector<double> right;  ///< [dv] in binary64; NaN where the contract wants NaN
  std::vector<double> wrong;  ///< [dv] NaN where the fault gives NaN
};

/// Of the probes on which some row of the fault's output is another one by more than rounding,
/// the one that is least to read (elements times tensors), and its first such row.
///
/// Result: nullopt if no probe shows the fault.
std::optional<FaultExample> smallest_example(const FaultKind& kind);

}  // namespace gqa
