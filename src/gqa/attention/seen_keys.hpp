// The keys of a history that count, and which of them are equal.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

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
  std::int64_t add(const double* row) { return ++counts_[bytes(row)]; }
  std::int64_t count(const double* row) const { return counts_.at(bytes(row)); }
  /// How many different ones.
  std::int64_t kinds() const { return static_cast<std::int64_t>(counts_.size()); }

 private:
  std::string bytes(const double* row) const;

  std::int64_t width_;
  std::unordered_map<std::string, std::int64_t> counts_;
};

}  // namespace gqa
