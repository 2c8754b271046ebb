// What of an audit must not depend on how its work is cut.
#pragma once

#include <cstdint>
#include <vector>

#include "gqa/audit/audit.hpp"

namespace gqa::test {

/// All of a result but the digits of the radius.
struct Findings {
  Verdict verdict;
  std::int64_t elements, violations, undecided;
  std::vector<std::int64_t> heads, rows, columns;
  bool operator==(const Findings&) const = default;
};

inline Findings findings_of(const AuditResult& result) {
  const AuditTally& tally = result.tally;
  return {result.verdict,        tally.elements,       tally.violations,       tally.undecided,
          tally.head_violations, tally.row_violations, tally.column_violations};
}

}  // namespace gqa::test
