// The rows of an output that an audit found wrong: every one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gqa/attention/dimensions.hpp"
#include "gqa/audit/decide/tally.hpp"
#include "gqa/diagnose/explain/row_place.hpp"

namespace gqa {

/// What the audit of one output knows of its rows.
class WrongRows {
 public:
  /// Of the tally of an output [B, Hq, T, dv]; every row was audited.
  WrongRows(const AuditTally& tally, const Dimensions& dimensions);

  const std::vector<RowPlace>& places() const { return places_; }
  bool contains(const RowPlace& place) const { return rows_.contains(number(place)); }
  std::int64_t batch() const { return batch_; }
  std::int64_t heads() const { return heads_; }
  std::int64_t rows() const { return queries_; }
  std::int64_t columns() const { return static_cast<std::int64_t>(column_counts_.size()); }
  std::int64_t elements() const { return elements_; }  ///< that are wrong
  /// [dv] wrong elements of each column.
  const std::vector<std::int64_t>& column_counts() const { return column_counts_; }

  /// At most `count` wrong rows: batch entries, heads and row tiles take turns, so that each of
  /// them that is wrong is met as early as can be.
  std::vector<RowPlace> spread(std::size_t count) const;
  /// At most `count` right rows: beside wrong ones first (the next row, head and batch entry that
  /// is right), then from anywhere.
  std::vector<RowPlace> right_ones(std::size_t count) const;

 private:
  std::int64_t number(const RowPlace& place) const {
    return (place.batch * heads_ + place.head) * queries_ + place.row;
  }

  std::int64_t batch_;
  std::int64_t heads_;
  std::int64_t queries_;
  std::int64_t elements_;
  ViolatingRows rows_;
  std::vector<RowPlace> places_;
  std::vector<std::int64_t> column_counts_;
};

}  // namespace gqa
