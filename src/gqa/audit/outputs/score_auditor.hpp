// Decides the elements of rows of qk_matmul_output and of lse.
#pragma once

#include <span>

#include "gqa/audit/enclose/audited_element.hpp"
#include "gqa/audit/enclose/enclosure.hpp"
#include "gqa/audit/models/score_bound.hpp"

namespace gqa {

/// A natural lse with its bounds, under `model` or null, in the base of the form.
Enclosed in_declared_base(const LseForm& form, const PrecisionModel* model, Enclosed natural);

/// Audits rows of the query heads of one batch entry that read one KV head. What an output
/// must hold is stated at audit_qk_matmul_output and audit_lse.
class ScoreAuditor {
 public:
  /// Keeps references to all arguments. `output`: [B, Hq, T, S] or, for lse, [B, Hq, T, 1].
  ScoreAuditor(const AttentionProblem& problem, const AuditOptions& options, std::int64_t batch,
               std::int64_t kv_head, const StridedTensor& output)
      : problem_(problem),
        options_(options),
        batch_(batch),
        kv_head_(kv_head),
        output_(output),
        reader_(problem, batch, kv_head) {}

  void audit_scores(std::int64_t head, std::int64_t row, ScoreStage stage, AuditTally& tally) const;
  void audit_weights(std::int64_t head, std::int64_t row, AuditTally& tally) const;
  void audit_lse(std::int64_t head, std::int64_t row, AuditTally& tally) const;

 private:
  struct ScorePlace;
  struct WeightRow;

  AuditedElement element(std::int64_t head, std::int64_t row, std::int64_t column) const;
  void add(AuditTally& tally, const AuditedElement& element, NullRow& nulls) const;
  void demand_row(std::int64_t head, std::int64_t row, double demanded, AuditTally& tally) const;
  void leave_open(std::int64_t head, std::int64_t row, AuditTally& tally) const;

  AuditedElement score_element(const ScorePlace& place, ScoreStage stage) const;
  Enclosed enclose_score(const ScorePlace& place, ScoreStage stage) const;
  std::optional<Rational> rational_score(std::int64_t head, std::int64_t row, std::size_t key,
                                         ScoreStage stage) const;

  void audit_empty_weights(std::int64_t head, std::int64_t row, AuditTally& tally) const;
  WeightRow weight_row(std::int64_t head, std::int64_t row,
                       const std::vector<std::size_t>& visible) const;
  Enclosed enclose_weight(std::int64_t head, std::int64_t row,
                          const std::vector<std::size_t>& visible, std::size_t k) const;
  void audit_empty_lse(std::int64_t head, std::int64_t row, AuditTally& tally) const;
  std::optional<Rational> rational_lse(std::int64_t head, std::int64_t row,
                                       const std::vector<std::size_t>& visible) const;
  std::optional<Rational> rational_binary_lse(std::int64_t head, std::int64_t row,
                                              const std::vector<std::size_t>& visible) const;
  Enclosed enclose_lse(std::int64_t head, std::int64_t row,
                       const std::vector<std::size_t>& visible) const;
  std::optional<std::int64_t> equal_scores(std::int64_t head, std::int64_t row,
                                           const std::vector<std::size_t>& visible) const;

  const PrecisionModel* model() const {
    const auto* tolerance = std::get_if<ModelTolerance>(&options_.tolerance);
    return tolerance == nullptr ? nullptr : tolerance->model;
  }

  const AttentionProblem& problem_;
  const AuditOptions& options_;
  std::int64_t batch_;
  std::int64_t kv_head_;
  const StridedTensor& output_;
  EnclosureReader reader_;
};

}  // namespace gqa
