// Decides recorded log-sum-exps by the filter's.
#pragma once

#include <optional>

#include "gqa/audit/enclose/latest_history.hpp"
#include "gqa/audit/filter/filter_tile_result.hpp"
#include "gqa/audit/outputs/score_auditor.hpp"

namespace gqa {

/// Audits the rows of filter tiles (with model_terms under a model) against FilterRow::lse and its
/// radius. A model's allowance is taken between two numbers that certainly enclose it; what they
/// leave open goes to ScoreAuditor.
class LseTileAuditor {
 public:
  /// Keeps references to `problem` and `options`. `output` [B, Hq, T, 1].
  LseTileAuditor(const AttentionProblem& problem, const AuditOptions& options,
                 StridedTensor output);

  /// Adds every row of the tile. May be called from several threads.
  void audit_tile(const FilterTile& tile, AuditTally& tally);

 private:
  struct Allowance;
  Allowance allowance(const FilterTile& tile, const FilterRow& row, const LseParts& parts);
  /// `later`: at least what the steps after the sum may move lse by, a part of both bounds.
  double likely_at_least(const FilterTile& tile, const FilterRow& row, double later) const;
  double worst_at_least(const FilterRow& row, double later) const;
  double worst_at_most(const FilterTile& tile, const FilterRow& row, const LseParts& parts);
  double largest_key_norm(std::int64_t batch, std::int64_t kv_head);
  std::optional<AuditedElement> decided(const FilterTile& tile, const FilterRow& row);
  void ask_again(const FilterTile& tile, const FilterRow& row, AuditTally& tally);

  const AttentionProblem& problem_;
  const AuditOptions& options_;
  const PrecisionModel* model_;  // null under a stated tolerance
  StridedTensor output_;
  LatestHistory<ScoreAuditor> auditors_;
  LatestHistory<double> key_norms_;
};

}  // namespace gqa
