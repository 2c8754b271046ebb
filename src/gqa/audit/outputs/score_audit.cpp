#include "gqa/audit/outputs/score_audit.hpp"

#include <fmt/format.h>

#include <memory>

#include "gqa/audit/decide/describe_violations.hpp"
#include "gqa/audit/decide/recorded_rounding.hpp"
#include "gqa/audit/filter/tile_job.hpp"
#include "gqa/audit/outputs/lse_tile_auditor.hpp"
#include "gqa/audit/outputs/score_auditor.hpp"
#include "gqa/audit/work/output_shape.hpp"
#include "gqa/audit/work/row_blocks.hpp"
#include "gqa/error.hpp"

namespace gqa {
namespace {

using AuditScoreRow =
    std::function<void(const ScoreAuditor&, std::int64_t head, std::int64_t row, AuditTally&)>;

// The selected rows of `output`, in blocks.
AuditResult audit_rows(const std::string& name, const AttentionProblem& problem,
                       const StridedTensor& output, AuditOptions options, const OutputAxes& axes,
                       const AuditScoreRow& audit_row) {
  options.recorded = recorded_rounding(options.tolerance, output);
  BlockJob job = start_job(name, {axes.batch, axes.heads, axes.rows, axes.columns}, options);
  work_on_rows(
      job, plan_row_blocks(problem, options.sample), [&](std::int64_t batch, std::int64_t kv_head) {
        auto auditor =
            std::make_shared<const ScoreAuditor>(problem, options, batch, kv_head, output);
        return [auditor, &audit_row](std::int64_t head, std::int64_t row, AuditTally& tally) {
          audit_row(*auditor, head, row, tally);
        };
      });
  AuditTally total = run_job(job, options);
  std::string where = describe_violations(total, axes);
  return result_of(std::move(total), std::move(where), options.tolerance);
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
    return audit_rows("qk_matmul_output", problem, output, options, axes,
                      [](const ScoreAuditor& auditor, std::int64_t head, std::int64_t row,
                         AuditTally& tally) { auditor.audit_weights(head, row, tally); });
  }
  const ScoreStage stage = stage_of(mode);
  return audit_rows("qk_matmul_output", problem, output, options, axes,
                    [stage](const ScoreAuditor& auditor, std::int64_t head, std::int64_t row,
                            AuditTally& tally) { auditor.audit_scores(head, row, stage, tally); });
}

namespace {

// Tiles of the filter, whose rows hold their log-sum-exp.
AuditResult audit_lse_tiles(const AttentionProblem& problem, const StridedTensor& output,
                            AuditOptions options) {
  options.recorded = recorded_rounding(options.tolerance, output);
  const Dimensions& d = problem.dimensions;
  const OutputAxes axes{d.batch, d.q_heads, d.queries, 1};
  BlockJob job = start_job("lse", {axes.batch, axes.heads, axes.rows, axes.columns}, options);
  FilterOptions filter;
  filter.model_terms = std::holds_alternative<ModelTolerance>(options.tolerance);
  filter.sample = options.sample;
  const auto auditor = std::make_shared<LseTileAuditor>(problem, options, output);
  work_on_tiles(job, problem, filter, [auditor](const FilterTile& tile, AuditTally& tally) {
    auditor->audit_tile(tile, tally);
  });
  AuditTally total = run_job(job, options);
  std::string where = describe_violations(total, axes);
  return result_of(std::move(total), std::move(where), options.tolerance);
}

}  // namespace

AuditResult audit_lse(const AttentionProblem& problem,
                      const std::shared_ptr<const TypedTensor>& recorded,
                      const AuditOptions& options) {
  const Dimensions& d = problem.dimensions;
  const Shape expected{d.batch, d.q_heads, d.queries};
  if (recorded->shape != expected && recorded->shape == Shape{d.batch, d.queries, d.q_heads}) {
    throw InputError(
        "contract.shape_mismatch", "lse",
        fmt::format("shape {} does not fit; expected {}; it fits with --lse-layout BTH",
                    to_text(recorded->shape), to_text(expected)));
  }
  require_output_shape(recorded->shape, expected, "lse");
  const StridedTensor output = one_column(recorded, "lse");
  if (options.use_filter) return audit_lse_tiles(problem, output, options);
  return audit_rows("lse", problem, output, options, {d.batch, d.q_heads, d.queries, 1},
                    [](const ScoreAuditor& auditor, std::int64_t head, std::int64_t row,
                       AuditTally& tally) { auditor.audit_lse(head, row, tally); });
}

}  // namespace gqa
