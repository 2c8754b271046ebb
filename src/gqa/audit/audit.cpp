#include "gqa/audit/audit.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <mutex>

#include "gqa/audit/row_auditor.hpp"
#include "gqa/error.hpp"

namespace gqa {
namespace {

AuditTally empty_tally(const Dimensions& d) {
  return {d.batch, d.q_heads, d.queries, d.value_size};
}

// The query heads that read one KV head of one batch entry, all rows.
void audit_history(const AttentionProblem& problem, const AuditOptions& options, std::int64_t batch,
                   std::int64_t kv_head, std::mutex& mutex, AuditTally& total,
                   std::int64_t& rows_done) {
  const Dimensions& d = problem.dimensions;
  const RowAuditor auditor(problem, options, batch, kv_head);
  for (std::int64_t head = 0; head < d.q_heads; ++head) {
    if (problem.head_map[static_cast<std::size_t>(head)] != kv_head) continue;
    tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, d.queries, 16), [&](const auto& rows) {
      AuditTally tally = empty_tally(d);
      for (std::int64_t row = rows.begin(); row != rows.end(); ++row) {
        auditor.audit_row(head, row, tally);
      }
      const std::lock_guard lock(mutex);
      total.merge(tally);
      rows_done += static_cast<std::int64_t>(rows.size());
      if (options.progress) options.progress(rows_done);
    });
  }
}

Verdict verdict_of(const AuditTally& tally) {
  if (tally.violations > 0) return Verdict::fail;
  if (tally.undecided > 0 || tally.elements == 0) return Verdict::undecided;
  return Verdict::pass;
}

FailureStrength strength_of(const AuditTally& tally) {
  if (tally.violations == 0) return FailureStrength::none;
  return tally.proved_violations > 0 ? FailureStrength::proved : FailureStrength::statistical;
}

}  // namespace

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return "pass";
    case Verdict::fail:
      return "fail";
    case Verdict::undecided:
      return "undecided";
    case Verdict::error:
      return "error";
  }
  return "?";
}

AuditResult audit(const AttentionProblem& problem, const AuditOptions& options) {
  if (!problem.output) {
    throw InputError("contract.missing_tensor", "output", "is needed and absent");
  }
  const Dimensions& d = problem.dimensions;
  if (element_count(problem.output->shape(), "output") == 0) {
    throw InputError("audit.nothing_to_audit", "output", "has no element");
  }
  AuditResult result{.tally = empty_tally(d), .where = ""};
  std::mutex mutex;
  std::int64_t rows_done = 0;
  const std::int64_t histories = d.batch * d.kv_heads;
  tbb::parallel_for(std::int64_t{0}, histories, [&](std::int64_t history) {
    audit_history(problem, options, history / d.kv_heads, history % d.kv_heads, mutex, result.tally,
                  rows_done);
  });
  result.verdict = verdict_of(result.tally);
  result.strength = strength_of(result.tally);
  result.where = describe_violations(result.tally, d);
  return result;
}

}  // namespace gqa
