// Where the violations of an output lie, in words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gqa/attention/attention_problem.hpp"
#include "gqa/audit/decide/tally.hpp"

namespace gqa {

/// The words for one axis of an output.
struct AxisWords {
  const char* singular;
  const char* plural;
};

/// "row 3", "rows 1 and 2", "rows 0, 2 and 5 to 9": rising indices, shortened where there are many
/// runs of them.
std::string numbered(const AxisWords& words, const std::vector<std::int64_t>& indices);

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

/// Where violations lie: "all of batch 0, query heads 1 and 2", with rows and columns
/// where those are few.
std::string describe_violations(const AuditTally& tally, const Dimensions& dimensions);

}  // namespace gqa
