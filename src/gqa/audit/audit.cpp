#include "gqa/audit/audit.hpp"

#include <fmt/format.h>

#include <memory>

#include "gqa/audit/audited_element.hpp"
#include "gqa/audit/filter.hpp"
#include "gqa/audit/recorded_rounding.hpp"
#include "gqa/audit/row_auditor.hpp"
#include "gqa/audit/row_blocks.hpp"
#include "gqa/audit/tile_auditor.hpp"
#include "gqa/error.hpp"

namespace gqa {
namespace {

AuditTally empty_tally(const Dimensions& d) {
  return {d.batch, d.q_heads, d.queries, d.value_size};
}

std::string tolerance_text(const Tolerance& tolerance) {
  const auto* model = std::get_if<ModelTolerance>(&tolerance);
  return describe(tolerance) +
         (model != nullptr && model->accept_worst_case ? ", worst case accepted" : "");
}

// One tile is one block.
void work_on_tiles(BlockJob& job, const AttentionProblem& problem, const AuditOptions& options) {
  FilterOptions filter;
  filter.model_terms = std::holds_alternative<ModelTolerance>(options.tolerance);
  filter.sample = options.sample;
  job.count = filter_tile_count(problem, filter);
  job.run = [&problem, filter, empty = job.empty,
             auditor = std::make_shared<TileAuditor>(problem, options)](
                std::span<const std::int64_t> blocks, const FinishBlock& finish) {
    FilterOptions some = filter;
    some.tiles.emplace(blocks.begin(), blocks.end());
    filter_reference(problem, some, [&](const FilterTile& tile) {
      AuditTally tally = empty;
      auditor->audit_tile(tile, tally);
      finish(tile.index, tally);
    });
  };
}

// Without the filter.
void work_on_enclosures(BlockJob& job, const AttentionProblem& problem,
                        const AuditOptions& options) {
  work_on_rows(job, plan_row_blocks(problem, options.sample),
               [&problem, &options](std::int64_t batch, std::int64_t kv_head) {
                 auto auditor =
                     std::make_shared<const RowAuditor>(problem, options, batch, kv_head);
                 return [auditor](std::int64_t head, std::int64_t row, AuditTally& tally) {
                   auditor->audit_row(head, row, tally);
                 };
               });
}

// The filter leaves open whether a model's violations are proved: the worst are asked again
// by enclosures, which know the worst case.
void prove_violations(const AttentionProblem& problem, const AuditOptions& options,
                      AuditTally& total) {
  if (total.violations == 0 || total.proved_violations > 0) return;
  RowAuditors rows(problem, options);
  for (const WorstElement& worst : total.worst) {
    if (!worst.within.certainly_not()) continue;
    const auto [batch, head, row, column] = worst.index;
    AuditTally single = empty_tally(problem.dimensions);
    const std::int64_t kv_head = problem.head_map[static_cast<std::size_t>(head)];
    rows.of(batch, kv_head)->audit_columns(head, row, std::span(&column, 1), single);
    total.proved_violations += single.proved_violations;
  }
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

BlockJob start_job(const std::string& output, AuditTally empty, const AuditOptions& options) {
  if (options.sample && options.sample->rows < 1) {
    throw InputError("audit.sample", "sample", "must have a row");
  }
  std::vector<IdentityField> identity = options.identity;
  identity.push_back({"audited", output});
  identity.push_back({"tolerance", tolerance_text(options.tolerance)});
  identity.push_back({"filter", options.use_filter ? "yes" : "no"});
  identity.push_back({"precision", fmt::format("{} to {} bits", options.first_precision,
                                               options.largest_precision)});
  identity.push_back(
      {"sample", options.sample
                     ? fmt::format("{} rows, seed {}", options.sample->rows, options.sample->seed)
                     : "none"});
  // What is not asked for is not named: journals from before stay good.
  if (options.map_errors) {
    identity.push_back({"error map", "kept"});
    empty.keep_error_map();
  }
  return {output, std::move(identity), 0, std::move(empty), {}, {}};
}

AuditTally run_job(const BlockJob& job, const AuditOptions& options) {
  return options.runner != nullptr ? options.runner->run(job) : run_here(job);
}

AuditResult audit(const AttentionProblem& problem, const AuditOptions& given) {
  if (!problem.output) {
    throw InputError("contract.missing_tensor", "output", "is needed and absent");
  }
  const Dimensions& d = problem.dimensions;
  if (element_count(problem.output->shape(), "output") == 0) {
    throw InputError("audit.nothing_to_audit", "output", "has no element");
  }
  AuditOptions options = given;
  options.recorded = recorded_rounding(options.tolerance, *problem.output);
  BlockJob job = start_job("output", empty_tally(d), options);
  job.progress = options.progress;
  if (options.use_filter) {
    work_on_tiles(job, problem, options);
  } else {
    work_on_enclosures(job, problem, options);
  }
  AuditTally tally = run_job(job, options);
  if (options.use_filter) prove_violations(problem, options, tally);
  std::string where = describe_violations(tally, d);
  return result_of(std::move(tally), std::move(where), options.tolerance);
}

}  // namespace gqa
