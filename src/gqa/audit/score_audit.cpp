#include "gqa/audit/score_audit.hpp"

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <mutex>

#include "gqa/audit/describe_violations.hpp"
#include "gqa/audit/output_shape.hpp"
#include "gqa/audit/score_auditor.hpp"
#include "gqa/error.hpp"

namespace gqa {
namespace {

using AuditRow =
    std::function<void(const ScoreAuditor&, std::int64_t head, std::int64_t row, AuditTally&)>;

AuditTally empty_tally(const OutputAxes& axes) {
  return {axes.batch, axes.heads, axes.rows, axes.columns};
}

// All rows of `output`, in parallel; the merge does not depend on their order.
AuditResult audit_rows(const AttentionProblem& problem, const StridedTensor& output,
                       const AuditOptions& options, const OutputAxes& axes,
                       const AuditRow& audit_row) {
  const Dimensions& d = problem.dimensions;
  AuditTally total = empty_tally(axes);
  std::mutex mutex;
  tbb::parallel_for(std::int64_t{0}, d.batch * d.kv_heads, [&](std::int64_t history) {
    const std::int64_t kv_head = history % d.kv_heads;
    const ScoreAuditor auditor(problem, options, history / d.kv_heads, kv_head, output);
    for (std::int64_t head = 0; head < d.q_heads; ++head) {
      if (problem.head_map[static_cast<std::size_t>(head)] != kv_head) continue;
      tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, d.queries, 16), [&](const auto& rows) {
        AuditTally tally = empty_tally(axes);
        for (std::int64_t row = rows.begin(); row != rows.end(); ++row) {
          audit_row(auditor, head, row, tally);
        }
        const std::lock_guard lock(mutex);
        total.merge(tally);
      });
    }
  });
  std::string where = describe_violations(total, axes);
  return result_of(std::move(total), std::move(where));
}

ScoreStage stage_of(int mode) {
  switch (mode) {
    case 0:
      return ScoreStage::scaled;
    case 1:
      return ScoreStage::softcapped;
    case 2:
      return ScoreStage::biased;
    default:
      throw InputError("contract.mode", "qk_matmul_output",
                       fmt::format("mode {} is none of 0 to 3", mode));
  }
}

}  // namespace

AuditResult audit_qk_matmul_output(const AttentionProblem& problem,
                                   const std::shared_ptr<const TypedTensor>& recorded, int mode,
                                   const AuditOptions& options) {
  const Dimensions& d = problem.dimensions;
  const StridedTensor output(recorded, Layout::bhsd, 0, "qk_matmul_output");
  require_output_shape(output.shape(), {d.batch, d.q_heads, d.queries, d.keys}, "qk_matmul_output");
  OutputAxes axes{d.batch, d.q_heads, d.queries, d.keys};
  axes.column = {"key", "keys"};
  if (mode == 3) {
    return audit_rows(problem, output, options, axes,
                      [](const ScoreAuditor& auditor, std::int64_t head, std::int64_t row,
                         AuditTally& tally) { auditor.audit_weights(head, row, tally); });
  }
  const ScoreStage stage = stage_of(mode);
  return audit_rows(problem, output, options, axes,
                    [stage](const ScoreAuditor& auditor, std::int64_t head, std::int64_t row,
                            AuditTally& tally) { auditor.audit_scores(head, row, stage, tally); });
}

AuditResult audit_lse(const AttentionProblem& problem,
                      const std::shared_ptr<const TypedTensor>& recorded,
                      const AuditOptions& options) {
  const Dimensions& d = problem.dimensions;
  require_output_shape(recorded->shape, {d.batch, d.q_heads, d.queries}, "lse");
  auto rows = std::make_shared<TypedTensor>(*recorded);
  rows->shape.push_back(1);
  const StridedTensor output(std::move(rows), Layout::bhsd, 0, "lse");
  return audit_rows(problem, output, options, {d.batch, d.q_heads, d.queries, 1},
                    [](const ScoreAuditor& auditor, std::int64_t head, std::int64_t row,
                       AuditTally& tally) { auditor.audit_lse(head, row, tally); });
}

}  // namespace gqa
