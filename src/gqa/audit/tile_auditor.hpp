// Rung 1 of the audit: decides what a filter tile's radius can decide.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "gqa/audit/audit.hpp"
#include "gqa/audit/filter.hpp"
#include "gqa/audit/interval_decision.hpp"
#include "gqa/audit/row_auditor.hpp"

namespace gqa {

/// Hands out RowAuditors; keeps the one that was asked for last, whose operands are large.
class RowAuditors {
 public:
  RowAuditors(const AttentionProblem& problem, const AuditOptions& options)
      : problem_(problem), options_(options) {}
  std::shared_ptr<const RowAuditor> of(std::int64_t batch, std::int64_t kv_head);

 private:
  const AttentionProblem& problem_;
  const AuditOptions& options_;
  std::mutex mutex_;
  std::int64_t batch_ = -1;
  std::int64_t kv_head_ = -1;
  std::shared_ptr<const RowAuditor> latest_;
};

/// Decides the elements of tiles; what stays open goes to the rungs of RowAuditor.
class TileAuditor {
 public:
  TileAuditor(const AttentionProblem& problem, const AuditOptions& options);

  /// Adds every element of the tile to the tally. May be called from several threads.
  void audit_tile(const FilterTile& tile, AuditTally& tally);

 private:
  struct RowWork;
  void audit_row(const FilterTile& tile, std::size_t r, RowWork& work, AuditTally& tally);
  Uncertain decide_element(const RowWork& work, double centre, double radius, const Interval& error,
                           std::int64_t column) const;

  const AttentionProblem& problem_;
  const AuditOptions& options_;
  const ModelTolerance* model_;
  std::optional<StatedTolerance> stated_;
  UlpTable ulps_;
  bool plain_;
  RowAuditors rows_;
};

}  // namespace gqa
