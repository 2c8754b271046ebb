#include "gqa/audit/tile_auditor.hpp"

#include <algorithm>
#include <cmath>

#include "gqa/audit/likely_interval.hpp"

namespace gqa {

std::shared_ptr<const RowAuditor> RowAuditors::of(std::int64_t batch, std::int64_t kv_head) {
  const std::lock_guard lock(mutex_);
  if (!latest_ || batch != batch_ || kv_head != kv_head_) {
    latest_.reset();  // before the next one is made: one is large enough
    latest_ = std::make_shared<RowAuditor>(problem_, options_, batch, kv_head);
    batch_ = batch;
    kv_head_ = kv_head;
  }
  return latest_;
}

// Buffers of one tile, and what of its current row is open.
struct TileAuditor::RowWork {
  std::vector<double> outputs;
  std::vector<std::int64_t> open_columns;
  std::optional<LikelyInterval> likely;
};

TileAuditor::TileAuditor(const AttentionProblem& problem, const AuditOptions& options)
    : problem_(problem),
      options_(options),
      model_(std::get_if<ModelTolerance>(&options.tolerance)),
      ulps_(problem.output->format()),
      plain_(problem.contract.softcap == 0 && !problem.has_bias() && !problem.sink),
      rows_(problem, options) {
  if (model_ == nullptr) stated_.emplace(options.tolerance);
}

void TileAuditor::audit_tile(const FilterTile& tile, AuditTally& tally) {
  RowWork work;
  work.outputs.resize(static_cast<std::size_t>(problem_.dimensions.value_size));
  for (std::size_t r = 0; r < tile.rows.size(); ++r) {
    const FilterRow& row = tile.rows[r];
    if (row.open || row.visible == 0) {
      rows_.of(tile.batch, tile.kv_head)->audit_row(row.head, row.row, tally);
      continue;
    }
    audit_row(tile, r, work, tally);
    if (!work.open_columns.empty()) {
      rows_.of(tile.batch, tile.kv_head)
          ->audit_columns(row.head, row.row, work.open_columns, tally);
    }
  }
}

Uncertain TileAuditor::decide_element(const RowWork& work, double centre, double radius,
                                      const Interval& error, std::int64_t column) const {
  if (model_ != nullptr) {
    const Uncertain likely = within(error, (*work.likely)(column, radius));
    // What only the worst case could explain is asked of the model itself.
    if (likely.certainly_not() && model_->accept_worst_case) return Uncertain::unknown();
    return likely;
  }
  const Interval magnitude = magnitude_interval(centre, radius);
  return within(error, stated_->allowed(magnitude, ulps_.ulps(magnitude)));
}

void TileAuditor::audit_row(const FilterTile& tile, std::size_t r, RowWork& work,
                            AuditTally& tally) {
  const FilterRow& row = tile.rows[r];
  const std::int64_t columns = problem_.dimensions.value_size;
  problem_.output->read_rows(tile.batch, row.head, row.row, row.row + 1, work.outputs.data(),
                             work.outputs.size());
  work.open_columns.clear();
  if (model_ != nullptr) {
    const FloatFormat& format = problem_.output->format();
    const FormatRounding rounding{model_->model->output_roundoff(format),
                                  model_->model->output_underflow(format)};
    work.likely.emplace(*model_->model, problem_.dimensions.key_size, rounding, tile, r, plain_);
  }
  const std::int64_t batch_head = tile.batch * problem_.dimensions.q_heads + row.head;
  for (std::int64_t c = 0; c < columns; ++c) {
    const double output = work.outputs[static_cast<std::size_t>(c)];
    const double centre = tile.output(r, c);
    const double radius = tile.radius(r, c);
    const Interval error = error_interval(output, centre, radius);
    const Uncertain decision = std::isfinite(output)
                                   ? decide_element(work, centre, radius, error, c)
                                   : Uncertain::unknown();
    const Interval ulps = ulps_.ulps(magnitude_interval(centre, radius));
    if (!decision.is_decided() || ulps.upper > 2 * ulps.lower) {
      // Open, or so close to zero that an error in ulps would say nothing.
      work.open_columns.push_back(c);
      continue;
    }
    ++tally.elements;
    ++tally.decided_by_filter;
    const Bounds ulp_error{rounded_down(error.lower / ulps.upper),
                           rounded_up(error.upper / ulps.lower)};
    tally.add_errors({error.lower, error.upper}, ulp_error, std::abs(output - centre) / ulps.upper);
    if (decision.certainly_not()) {
      tally.add_violation(batch_head, row.row, c);
      // A stated tolerance is a theorem; a model's likely bound is not.
      if (model_ == nullptr) ++tally.proved_violations;
    } else if (!tally.may_be_worst(ulp_error.upper)) {
      continue;
    }
    WorstElement element;
    element.index = {tile.batch, row.head, row.row, c};
    element.output = output;
    element.within = decision;
    element.absolute_error = {error.lower, error.upper};
    element.ulp_error = ulp_error;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    element.reference = {std::nextafter(centre - radius, -infinity),
                         std::nextafter(centre + radius, infinity)};
    tally.add_worst(element);
  }
}

}  // namespace gqa
