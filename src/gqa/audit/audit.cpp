#include "gqa/audit/audit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "gqa/audit/decide/describe_violations.hpp"
#include "gqa/audit/decide/recorded_rounding.hpp"
#include "gqa/audit/enclose/row_auditor.hpp"
#include "gqa/audit/filter/tile_auditor.hpp"
#include "gqa/audit/filter/tile_job.hpp"
#include "gqa/audit/work/audit_job.hpp"
#include "gqa/audit/work/row_blocks.hpp"
#include "gqa/error.hpp"

namespace gqa {
namespace {

AuditTally empty_tally(const Dimensions& d) {
  return {d.batch, d.q_heads, d.queries, d.value_size};
}

// One tile is one block.
void work_on_filter(BlockJob& job, const AttentionProblem& problem, const AuditOptions& options) {
  FilterOptions filter;
  filter.model_terms = std::holds_alternative<ModelTolerance>(options.tolerance);
  filter.sample = options.sample;
  const auto auditor = std::make_shared<TileAuditor>(problem, options);
  work_on_tiles(job, problem, filter, [auditor](const FilterTile& tile, AuditTally& tally) {
    auditor->audit_tile(tile, tally);
  });
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

// The filter leaves open whether a model's violations are proved, and knows what is allowed between
// two bounds: the worst are asked again by enclosures, which know the worst case. NaN is proved,
// and nothing is measured there.
void prove_violations(const AttentionProblem& problem, const AuditOptions& options,
                      AuditTally& total) {
  RowAuditors rows(problem, options);
  std::map<std::array<std::int64_t, 3>, std::vector<WorstElement>> by_row;
  for (const WorstElement& worst : std::exchange(total.worst, {})) {
    if (worst.within.certainly_not() && !std::isnan(worst.output)) {
      by_row[{worst.index[0], worst.index[1], worst.index[2]}].push_back(worst);
    } else {
      total.add_worst(worst);
    }
  }
  for (const auto& [place, elements] : by_row) {
    const auto [batch, head, row] = place;
    std::vector<std::int64_t> columns;
    for (const WorstElement& element : elements) columns.push_back(element.index[3]);
    AuditTally asked = empty_tally(problem.dimensions);
    const std::int64_t kv_head = problem.head_map[static_cast<std::size_t>(head)];
    rows.of(batch, kv_head)->audit_columns(head, row, columns, asked);
    total.proved_violations += asked.proved_violations;
    for (const WorstElement& element : elements) {
      const auto found = std::ranges::find(asked.worst, element.index, &WorstElement::index);
      const bool violates = found != asked.worst.end() && found->within.certainly_not();
      total.add_worst(violates ? *found : element);
    }
  }
}

bool filter_leaves_proofs(const AuditOptions& options) {
  return options.use_filter && options.prove_violations &&
         std::holds_alternative<ModelTolerance>(options.tolerance);
}

}  // namespace

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
    work_on_filter(job, problem, options);
  } else {
    work_on_enclosures(job, problem, options);
  }
  AuditTally tally = run_job(job, options);
  if (filter_leaves_proofs(options)) prove_violations(problem, options, tally);
  std::string where = describe_violations(tally, d);
  return result_of(std::move(tally), std::move(where), options.tolerance);
}

}  // namespace gqa
