// Where the violations of an output lie, in words.
#pragma once

#include <string>

#include "gqa/audit/tally.hpp"

namespace gqa {

/// The words for one axis of an output.
struct AxisWords {
  const char* singular;
  const char* plural;
};

/// The axes of an output [batch, heads, rows, columns] as its tally counts them.
struct OutputAxes {
  std::int64_t batch = 0;
  std::int64_t heads = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  AxisWords head{"query head", "query heads"};
  AxisWords row{"row", "rows"};
  AxisWords column{"column", "columns"};
};

/// "all of batch 0, KV heads 1 and 2", with rows and columns where those are few.
std::string describe_violations(const AuditTally& tally, const OutputAxes& axes);

}  // namespace gqa
