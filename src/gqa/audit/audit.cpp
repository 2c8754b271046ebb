#include "gqa/audit/audit.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <mutex>

#include "gqa/audit/audited_element.hpp"
#include "gqa/audit/filter.hpp"
#include "gqa/audit/row_auditor.hpp"
#include "gqa/audit/tile_auditor.hpp"
#include "gqa/error.hpp"

namespace gqa {
namespace {

AuditTally empty_tally(const Dimensions& d) {
  return {d.batch, d.q_heads, d.queries, d.value_size};
}

// Joins tallies of finished blocks and reports progress, one call at a time.
class Collector {
 public:
  Collector(AuditTally& total, const AuditOptions& options) : total_(total), options_(options) {}
  void add(const AuditTally& block, std::int64_t rows) {
    const std::lock_guard lock(mutex_);
    total_.merge(block);
    rows_ += rows;
    if (options_.progress) options_.progress(rows_);
  }

 private:
  AuditTally& total_;
  const AuditOptions& options_;
  std::mutex mutex_;
  std::int64_t rows_ = 0;
};

void audit_by_filter(const AttentionProblem& problem, const AuditOptions& options,
                     Collector& collector) {
  TileAuditor auditor(problem, options);
  FilterOptions filter;
  filter.model_terms = std::holds_alternative<ModelTolerance>(options.tolerance);
  filter_reference(problem, filter, [&](const FilterTile& tile) {
    AuditTally tally = empty_tally(problem.dimensions);
    auditor.audit_tile(tile, tally);
    collector.add(tally, static_cast<std::int64_t>(tile.rows.size()));
  });
}

// The query heads that read one KV head of one batch entry, all rows, without the filter.
void audit_history(const AttentionProblem& problem, const AuditOptions& options, std::int64_t batch,
                   std::int64_t kv_head, Collector& collector) {
  const Dimensions& d = problem.dimensions;
  const RowAuditor auditor(problem, options, batch, kv_head);
  for (std::int64_t head = 0; head < d.q_heads; ++head) {
    if (problem.head_map[static_cast<std::size_t>(head)] != kv_head) continue;
    tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, d.queries, 16), [&](const auto& rows) {
      AuditTally tally = empty_tally(d);
      for (std::int64_t row = rows.begin(); row != rows.end(); ++row) {
        auditor.audit_row(head, row, tally);
      }
      collector.add(tally, static_cast<std::int64_t>(rows.size()));
    });
  }
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

AuditResult audit(const AttentionProblem& problem, const AuditOptions& options) {
  if (!problem.output) {
    throw InputError("contract.missing_tensor", "output", "is needed and absent");
  }
  const Dimensions& d = problem.dimensions;
  if (element_count(problem.output->shape(), "output") == 0) {
    throw InputError("audit.nothing_to_audit", "output", "has no element");
  }
  AuditTally tally = empty_tally(d);
  Collector collector(tally, options);
  if (options.use_filter) {
    audit_by_filter(problem, options, collector);
    prove_violations(problem, options, tally);
  } else {
    tbb::parallel_for(std::int64_t{0}, d.batch * d.kv_heads, [&](std::int64_t history) {
      audit_history(problem, options, history / d.kv_heads, history % d.kv_heads, collector);
    });
  }
  std::string where = describe_violations(tally, d);
  return result_of(std::move(tally), std::move(where));
}

}  // namespace gqa
