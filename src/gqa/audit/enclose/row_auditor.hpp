// Decides the elements of single rows by rungs 2 and 3.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "gqa/audit/decide/audit_result.hpp"
#include "gqa/audit/enclose/audited_element.hpp"
#include "gqa/audit/enclose/enclosure.hpp"
#include "gqa/audit/work/audit_job.hpp"

namespace gqa {

/// Audits rows of the query heads of one batch entry that read one KV head.
class RowAuditor {
 public:
  RowAuditor(const AttentionProblem& problem, const AuditOptions& options, std::int64_t batch,
             std::int64_t kv_head)
      : problem_(problem), options_(options), batch_(batch), reader_(problem, batch, kv_head) {}

  /// Decides every element of the row and adds it to the tally.
  void audit_row(std::int64_t head, std::int64_t row, AuditTally& tally) const;
  /// The same for some columns of the row.
  /// The row's null outputs are left to the caller.
  void audit_columns(std::int64_t head, std::int64_t row, std::span<const std::int64_t> columns,
                     AuditTally& tally) const;

  /// Are these elements of a row within the tolerance, by the first precision alone? Unknown: more
  /// bits would tell. nullopt: an operand that the row reads is not finite. Precondition: the row
  /// sees a key.
  std::optional<std::vector<Uncertain>> ask(std::int64_t head, std::int64_t row,
                                            std::span<const std::int64_t> columns) const;

 private:
  struct Row;
  AuditedElement element_at(std::int64_t head, std::int64_t row, std::int64_t column) const;
  void audit_columns(std::int64_t head, std::int64_t row, std::span<const std::int64_t> columns,
                     AuditTally& tally, NullRow& nulls) const;
  void add(const AuditedElement& element, AuditTally& tally, NullRow& nulls) const;
  void audit_empty_row(std::int64_t head, std::int64_t row, std::span<const std::int64_t> columns,
                       AuditTally& tally, NullRow& nulls) const;
  void audit_element(const Row& row, std::int64_t column, AuditTally& tally, NullRow& nulls) const;

  const AttentionProblem& problem_;
  const AuditOptions& options_;
  std::int64_t batch_;
  EnclosureReader reader_;
};

}  // namespace gqa
