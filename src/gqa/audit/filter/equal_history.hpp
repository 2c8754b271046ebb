// What of a history is equal: keys, rows of values, and values of one column.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gqa/attention/attention_problem.hpp"
#include "gqa/attention/seen_keys.hpp"
#include "gqa/audit/enclose/latest_history.hpp"

namespace gqa {

/// Of the keys that some row may see.
struct EqualHistory {
  RowKinds keys;
  RowKinds values;
  /// Per column the largest number of equal values; empty if that was not asked.
  std::vector<std::int64_t> most_equal_values;

  /// Reads the history. `columns`: whether to compare the values of each column.
  EqualHistory(const AttentionProblem& problem, std::int64_t batch, std::int64_t kv_head,
               bool columns);
};

/// Keeps those of the histories that threads are at work on.
class EqualHistories {
 public:
  /// Keeps a reference.
  EqualHistories(const AttentionProblem& problem, bool columns)
      : problem_(problem), columns_(columns), latest_(histories_at_once()) {}
  std::shared_ptr<const EqualHistory> of(std::int64_t batch, std::int64_t kv_head) {
    return latest_.of(batch, kv_head, [&] {
      return std::make_shared<const EqualHistory>(problem_, batch, kv_head, columns_);
    });
  }

 private:
  const AttentionProblem& problem_;
  bool columns_;
  LatestHistory<EqualHistory> latest_;
};

}  // namespace gqa
