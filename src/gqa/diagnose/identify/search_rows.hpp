// Rows of a recording, read for a search of the contract that they fit.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gqa/attention/attention_problem.hpp"
#include "gqa/diagnose/explain/row_allowance.hpp"

namespace gqa::identification {

/// The keys and values of one KV head, decoded.
struct HeadHistory {
  std::vector<double> keys;    ///< [N, dk]
  std::vector<double> values;  ///< [N, dv]
};

/// One output row beside what it is made of, if its query head reads a certain KV head.
struct SearchRow {
  RowPlace place;
  std::vector<double> products;  ///< [N] q.k, not scaled
  std::shared_ptr<const HeadHistory> history;
  std::vector<double> output;    ///< [dv] as recorded
  double square = 0;             ///< its sum of squares, above 0
  std::vector<char> hidden;      ///< [N] by a mask in the recording; empty: none
  std::vector<double> bias;      ///< [N] of a float mask in the recording; empty: none
  std::optional<double> sink;    ///< of the recording
  std::optional<double> slope;   ///< of the recording
  std::int64_t length = 0;       ///< visible length of its batch entry, as recorded
  bool length_is_given = false;  ///< by the recording
  std::int64_t queries = 0;      ///< T
  std::int64_t past = 0;         ///< P

  std::int64_t keys() const { return static_cast<std::int64_t>(products.size()); }
  std::size_t columns() const { return output.size(); }
};

/// Reads rows of a recording under one layout; histories are decoded once and kept.
class RowReader {
 public:
  /// `problem`: neither causal nor windowed. Keeps a reference: it must outlive this.
  RowReader(const AttentionProblem& problem, bool lengths_are_given)
      : problem_(problem), lengths_are_given_(lengths_are_given) {}

  /// The row as if its head read `kv_head`; nullopt where the recorded output holds NaN, infinity
  /// or nothing but zeros, so that it says nothing of weights.
  std::optional<SearchRow> read(const RowPlace& place, std::int64_t kv_head);

  /// Up to `count` rows of one batch entry and head that can be read, the first and the last
  /// among them, more closely at the beginning, where few keys are visible to a causal row.
  std::vector<SearchRow> spread(std::int64_t batch, std::int64_t head, std::int64_t kv_head,
                                std::size_t count);

  const AttentionProblem& problem() const { return problem_; }

 private:
  std::shared_ptr<const HeadHistory> history_of(std::int64_t batch, std::int64_t kv_head);

  const AttentionProblem& problem_;
  bool lengths_are_given_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::shared_ptr<const HeadHistory>> histories_;
};

}  // namespace gqa::identification
