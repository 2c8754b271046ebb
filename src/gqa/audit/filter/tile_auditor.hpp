// Rung 1 of the audit: decides what a filter tile's radius can decide.
#pragma once

#include <functional>
#include <memory>

#include "gqa/audit/decide/audit_result.hpp"
#include "gqa/audit/decide/element_decision.hpp"
#include "gqa/audit/enclose/latest_history.hpp"
#include "gqa/audit/enclose/row_auditor.hpp"
#include "gqa/audit/filter/filter.hpp"
#include "gqa/audit/filter/interval_decision.hpp"
#include "gqa/audit/filter/likely_interval.hpp"
#include "gqa/audit/filter/rounding_rows.hpp"
#include "gqa/audit/filter/self_check.hpp"
#include "gqa/audit/filter/small_values.hpp"
#include "gqa/audit/work/audit_job.hpp"

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
  LatestHistory<RowAuditor> latest_;
};

/// Decides the elements of tiles; what stays open goes to the rungs of RowAuditor.
///
/// Under a model, what the tile's sums leave open is first asked of RoundingRows.
class TileAuditor {
 public:
  TileAuditor(const AttentionProblem& problem, const AuditOptions& options);

  /// Adds every element of the tile to the tally, and asks those of its rows again that the
  /// self-check has chosen. May be called from several threads.
  /// Errors: SelfCheckError.
  void audit_tile(const FilterTile& tile, AuditTally& tally);

 private:
  struct Element;
  struct OpenRow;
  struct Work;
  void audit_row(std::size_t r, Work& work);
  void check_rows(Work& work);
  void map_sure_elements(std::size_t r, Work& work) const;
  void settle_sure_elements(std::size_t r, Work& work) const;
  void decide_open_rows(Work& work);
  void decide_open_row(std::size_t k, Work& work);
  void refine_open_rows(Work& work);
  void refute_nulls(std::size_t r, Work& work);
  struct Answer;
  Interval null_allowance(RoundingRows& rows, std::size_t k, std::int64_t column,
                          double radius) const;
  Element element(const Work& work, std::size_t r, std::int64_t column) const;
  std::shared_ptr<const SmallValues> small_values(const FilterTile& tile) const;
  Interval allowance(const Work& work, const Element& element) const;
  Answer decide(const Work& work, const Element& element) const;
  Answer decide(RoundingRows& rows, std::size_t k, const Element& element) const;
  void record(Work& work, const Element& element, const Answer& answer) const;
  void record_nan(Work& work, const Element& element) const;
  WorstElement worst_element(const Work& work, const Element& element, const Bounds& ulp_error,
                             const Answer& answer) const;

  const AttentionProblem& problem_;
  const AuditOptions& options_;
  const ModelTolerance* model_;
  std::optional<StatedTolerance> stated_;
  std::optional<LikelyContext> likely_;
  UlpTable ulps_;
  double largest_;  // of the output's format
  RowAuditors rows_;
  mutable LatestHistory<SmallValues> small_values_;
  std::vector<std::int64_t> checked_;  // rows that are asked again, as self_check_rows has them
};

}  // namespace gqa
