#include "gqa/audit/audit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
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

// Where weights are rounded to few bits, or equal keys have scores that a bias tells apart, the
// bound that holds for any classes of equal scores is too wide to refute a null output by.
bool wants_equal_scores(const AttentionProblem& problem, const Tolerance& tolerance) {
  const auto* model = std::get_if<ModelTolerance>(&tolerance);
  return model != nullptr && (model->model->weight > 0x1p-20 || problem.has_bias());
}

// One tile is one block.
void work_on_filter(BlockJob& job, const AttentionProblem& problem, const AuditOptions& options) {
  FilterOptions filter;
  filter.model_terms = std::holds_alternative<ModelTolerance>(options.tolerance);
  filter.equal_scores = wants_equal_scores(problem, options.tolerance);
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
// and nothing is measured there. Of long histories the worst rows alone: a row costs what its keys
// do.
class WorstAgain {
 public:
  WorstAgain(const AttentionProblem& problem, const AuditOptions& options, AuditTally& total)
      : problem_(problem),
        figures_(options.all_violations),
        rows_(problem, options),
        total_(total) {}

  void ask() {
    const std::size_t most_rows = rows_asked();
    const std::vector<std::vector<WorstElement>> by_row = take_rows();
    for (std::size_t r = 0; r < by_row.size(); ++r) {
      if (r < most_rows) {
        ask_row(by_row[r]);
      } else {
        for (const WorstElement& element : by_row[r]) total_.add_worst(element);
      }
    }
  }

 private:
  // A proof needs one row; reports show the figures of three elements before all others.
  std::size_t rows_asked() const {
    if (!figures_) return 1;
    constexpr std::int64_t budget = std::int64_t{1} << 22;  // products of query and key
    const Dimensions& d = problem_.dimensions;
    const std::int64_t products = std::max<std::int64_t>(1, d.keys * (d.key_size + 1));
    return static_cast<std::size_t>(std::max<std::int64_t>(3, budget / products));
  }

  // The violations that have a figure, row by row, the worst row first.
  std::vector<std::vector<WorstElement>> take_rows() {
    const auto row_of = [](const WorstElement& e) {
      return std::array{e.index[0], e.index[1], e.index[2]};
    };
    std::vector<std::vector<WorstElement>> by_row;
    for (const WorstElement& worst : std::exchange(total_.worst, {})) {
      if (!worst.within.certainly_not() || std::isnan(worst.output)) {
        total_.add_worst(worst);
        continue;
      }
      const auto same = std::ranges::find_if(by_row, [&](const std::vector<WorstElement>& row) {
        return row_of(row.front()) == row_of(worst);
      });
      if (same == by_row.end()) {
        by_row.push_back({worst});
      } else {
        same->push_back(worst);
      }
    }
    return by_row;
  }

  void ask_row(const std::vector<WorstElement>& elements) {
    const auto [batch, head, row, first_column] = elements.front().index;
    std::vector<std::int64_t> columns;
    for (const WorstElement& element : elements) columns.push_back(element.index[3]);
    AuditTally asked = empty_tally(problem_.dimensions);
    const std::int64_t kv_head = problem_.head_map[static_cast<std::size_t>(head)];
    rows_.of(batch, kv_head)->audit_columns(head, row, columns, asked);
    total_.proved_violations += asked.proved_violations;
    for (const WorstElement& element : elements) {
      const auto found = std::ranges::find(asked.worst, element.index, &WorstElement::index);
      const bool violates = found != asked.worst.end() && found->within.certainly_not();
      total_.add_worst(violates ? *found : element);
    }
  }

  const AttentionProblem& problem_;
  bool figures_;  // are they used?
  RowAuditors rows_;
  AuditTally& total_;
};

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
  if (filter_leaves_proofs(options)) WorstAgain(problem, options, tally).ask();
  std::string where = describe_violations(tally, d);
  return result_of(std::move(tally), std::move(where), options.tolerance);
}

}  // namespace gqa
