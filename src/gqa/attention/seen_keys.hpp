// The keys of a history that count, and which of them are equal.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "gqa/attention/attention_problem.hpp"

namespace gqa {

/// The keys that some row of a batch entry may see, as one range; {0, 0} without any. Masks are not
/// asked.
KeyRange seen_keys(const AttentionProblem& problem, std::int64_t batch);

/// Counts rows by their numbers; zeros of either sign are one number.
class EqualRows {
 public:
  explicit EqualRows(std::int64_t width) : width_(width) {}
  /// How many equal rows there are with this one.
  std::int64_t add(const double* row);
  std::int64_t count(const double* row) const { return kinds_.at(bytes(row)).count; }
  /// The number of its kind, from 0 on in the order in which they came.
  std::int64_t kind(const double* row) const { return kinds_.at(bytes(row)).number; }
  /// How many different ones.
  std::int64_t kinds() const { return static_cast<std::int64_t>(kinds_.size()); }

 private:
  std::string bytes(const double* row) const;

  std::int64_t width_;
  struct Kind {
    std::int64_t number = 0;
    std::int64_t count = 0;
  };
  std::unordered_map<std::string, Kind> kinds_;
};

/// The kinds of the rows of a history in a range, from 0 on; others have a negative one.
struct RowKinds {
  std::vector<std::int64_t> numbers;  ///< [S]
  std::int64_t most_equal = 0;        ///< the largest number of equal rows
};
RowKinds row_kinds(const History& history, std::int64_t batch, std::int64_t kv_head,
                   KeyRange range);

}  // namespace gqa
