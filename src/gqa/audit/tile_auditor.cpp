#include "gqa/audit/tile_auditor.hpp"

#include <algorithm>
#include <cmath>

#include "gqa/audit/vector_decision.hpp"
#include "gqa/audit/vector_exp.hpp"

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

// One element of a tile against its reference.
struct TileAuditor::Element {
  std::size_t r;
  std::int64_t column;
  double output;
  double centre;
  double radius;
  Interval error;
  Interval magnitude;
  Interval ulps;
};

// What of a row the tile's sums left open.
struct TileAuditor::OpenRow {
  std::size_t r;
  std::vector<Element> elements;
};

// What is at hand while a tile is audited.
struct TileAuditor::Work {
  const FilterTile& tile;
  AuditTally& tally;
  std::vector<double> outputs;                  // of the current row, padded for vectors
  std::vector<double> sure_errors;              // of the current row: surely_within's ulp_errors
  std::optional<LikelyInterval> likely;         // of the current row
  std::vector<OpenRow> open_rows;               // waiting for more
  std::unique_ptr<RoundingRows> rounding_rows;  // made when first needed
  std::vector<std::int64_t> open_columns;
};

TileAuditor::TileAuditor(const AttentionProblem& problem, const AuditOptions& options)
    : problem_(problem),
      options_(options),
      model_(std::get_if<ModelTolerance>(&options.tolerance)),
      ulps_(problem.output->format()),
      rows_(problem, options) {
  if (model_ == nullptr) {
    stated_.emplace(options.tolerance);
    return;
  }
  const FloatFormat& format = problem.output->format();
  const PrecisionModel& model = *model_->model;
  likely_.emplace(LikelyContext{model,
                                problem.dimensions.key_size,
                                {model.output_roundoff(format), model.output_underflow(format)},
                                problem.contract.softcap == 0 && !problem.has_bias()});
}

void TileAuditor::audit_tile(const FilterTile& tile, AuditTally& tally) {
  Work work{tile, tally, {}, {}, {}, {}, {}, {}};
  work.outputs.resize(padded(static_cast<std::size_t>(problem_.dimensions.value_size)));
  work.sure_errors.resize(work.outputs.size());
  for (std::size_t r = 0; r < tile.rows.size(); ++r) {
    const FilterRow& row = tile.rows[r];
    if (row.open || row.visible == 0) {
      rows_.of(tile.batch, tile.kv_head)->audit_row(row.head, row.row, tally);
      continue;
    }
    audit_row(r, work);
    if (!work.open_columns.empty()) {
      rows_.of(tile.batch, tile.kv_head)
          ->audit_columns(row.head, row.row, work.open_columns, tally);
    }
    if (work.open_rows.size() == RoundingRows::most_rows) decide_open_rows(work);
  }
  decide_open_rows(work);
}

// Puts what surely_within marked on the map.
void TileAuditor::map_sure_elements(std::size_t r, Work& work) const {
  const FilterRow& row = work.tile.rows[r];
  const std::int64_t place = work.tile.batch * problem_.dimensions.q_heads + row.head;
  for (std::int64_t c = 0; c < work.tile.columns; ++c) {
    const double error = work.sure_errors[static_cast<std::size_t>(c)];
    if (error >= 0) work.tally.error_map.add_error(place, row.row, error);
  }
}

// All that vectors can tell of a row: what is surely within is counted, and marked.
void TileAuditor::settle_sure_elements(std::size_t r, Work& work) const {
  const FilterTile& tile = work.tile;
  const RowElements row{work.outputs.data(),        tile.values + r * tile.stride,
                        tile.column_maximum.data(), static_cast<std::size_t>(tile.columns),
                        tile.rows[r].relative,      tile.rows[r].underflow};
  const FloatFormat& format = problem_.output->format();
  SureElements sure;
  if (row.columns > most_columns) {
    std::ranges::fill(work.sure_errors, not_sure);
  } else if (stated_) {
    sure = surely_within(row, format, stated_->sure_allowance(), work.sure_errors.data());
  } else if (const auto allowance = work.likely->allowance()) {
    sure = surely_within(row, format, *allowance, work.sure_errors.data());
  } else {
    std::ranges::fill(work.sure_errors, not_sure);
  }
  AuditTally& tally = work.tally;
  tally.elements += sure.count;
  tally.decided_by_filter += sure.count;
  tally.add_errors(sure.max_absolute_error, sure.max_ulp_error, sure.ulp_units, sure.count);
  if (tally.error_map.is_kept()) map_sure_elements(r, work);
  if (!tally.may_be_worst(sure.max_ulp_error.upper)) return;
  for (std::int64_t c = 0; c < tile.columns; ++c) {
    if (!tally.may_be_worst(work.sure_errors[static_cast<std::size_t>(c)])) continue;
    const Element e = element(work, r, c);
    tally.add_worst(worst_element(work, e, in_ulps(e.error, e.ulps), Uncertain::yes()));
  }
}

inline TileAuditor::Element TileAuditor::element(const Work& work, std::size_t r,
                                                 std::int64_t column) const {
  Element element{};
  element.r = r;
  element.column = column;
  element.output = work.outputs[static_cast<std::size_t>(column)];
  element.centre = work.tile.output(r, column);
  element.radius = work.tile.radius(r, column);
  element.error = error_interval(element.output, element.centre, element.radius);
  element.magnitude = magnitude_interval(element.centre, element.radius);
  element.ulps = ulps_.ulps(element.magnitude);
  return element;
}

// By what the tile knows.
inline ElementDecision TileAuditor::decide(const Work& work, const Element& e) const {
  if (!work.likely) {
    return {within(e.error, stated_->allowed(e.magnitude, e.ulps)), FailureStrength::proved};
  }
  const Uncertain likely = work.likely->explains(e.error, e.column, e.radius);
  if (likely.certainly()) return {likely, FailureStrength::none};
  // What the worst case explains is asked once more; but one proof is enough.
  const bool enough = work.tally.proved_violations > 0 && !model_->accept_worst_case;
  return {enough ? likely : Uncertain::unknown(), FailureStrength::statistical};
}

// By both bounds of the k-th open row, as decide() of verdict.hpp.
ElementDecision TileAuditor::decide(RoundingRows& rows, std::size_t k, const Element& e) const {
  const Uncertain likely = within(e.error, rows.likely(k, e.column, e.radius));
  if (likely.certainly()) return {likely, FailureStrength::none};
  const auto worst = rows.worst(k, e.column, e.radius);
  const Uncertain possible = worst ? within(e.error, *worst) : Uncertain::unknown();
  if (model_->accept_worst_case) {
    const bool proved = likely.certainly_not() && possible.certainly_not();
    return {possible.certainly() ? possible : (proved ? likely : Uncertain::unknown()),
            proved ? FailureStrength::proved : FailureStrength::none};
  }
  if (!likely.is_decided()) return {};
  if (possible.certainly_not()) return {likely, FailureStrength::proved};
  // Where nothing bounds the worst case, nothing is proved.
  if (possible.certainly() || !worst) return {likely, FailureStrength::statistical};
  return {};
}

inline void TileAuditor::record(const Work& work, const Element& e,
                                const ElementDecision& decision) const {
  AuditTally& tally = work.tally;
  const FilterRow& row = work.tile.rows[e.r];
  ++tally.elements;
  ++tally.decided_by_filter;
  const Bounds ulp_error = in_ulps(e.error, e.ulps);
  const std::int64_t place = work.tile.batch * problem_.dimensions.q_heads + row.head;
  tally.add_errors({e.error.lower, e.error.upper}, ulp_error,
                   std::abs(e.output - e.centre) / e.ulps.upper);
  tally.error_map.add_error(place, row.row, ulp_error.upper);
  if (decision.within.certainly_not()) {
    tally.add_violation(place, row.row, e.column);
    if (decision.strength == FailureStrength::proved) ++tally.proved_violations;
  } else if (!tally.may_be_worst(ulp_error.upper)) {
    return;
  }
  tally.add_worst(worst_element(work, e, ulp_error, decision.within));
}

WorstElement TileAuditor::worst_element(const Work& work, const Element& e, Bounds ulp_error,
                                        Uncertain within) const {
  return measured_element(
      {work.tile.batch, work.tile.rows[e.r].head, work.tile.rows[e.r].row, e.column}, e.output,
      e.centre, e.radius, e.error, ulp_error, within);
}

void TileAuditor::audit_row(std::size_t r, Work& work) {
  const FilterTile& tile = work.tile;
  const FilterRow& row = tile.rows[r];
  problem_.output->read_rows(tile.batch, row.head, row.row, row.row + 1, work.outputs.data(),
                             static_cast<std::size_t>(tile.columns));
  work.open_columns.clear();
  if (likely_) work.likely.emplace(*likely_, tile, r, problem_.sink_of(row.head));
  settle_sure_elements(r, work);
  std::vector<Element> open;
  for (std::int64_t c = 0; c < problem_.dimensions.value_size; ++c) {
    if (work.sure_errors[static_cast<std::size_t>(c)] != not_sure) continue;
    const Element e = element(work, r, c);
    if (!std::isfinite(e.output) || e.ulps.upper > 2 * e.ulps.lower) {
      // So close to zero that an error in ulps would say nothing.
      work.open_columns.push_back(c);
      continue;
    }
    const ElementDecision decision = decide(work, e);
    if (decision.within.is_decided()) {
      record(work, e, decision);
    } else if (likely_) {
      open.push_back(e);
    } else {
      work.open_columns.push_back(c);
    }
  }
  if (!open.empty()) work.open_rows.push_back({r, std::move(open)});
}

// Both bounds of all rows that wait, and enclosures for what they too leave open.
void TileAuditor::decide_open_rows(Work& work) {
  if (work.open_rows.empty()) return;
  if (!work.rounding_rows) work.rounding_rows = std::make_unique<RoundingRows>(problem_, *likely_);
  std::vector<std::size_t> rows;
  for (const OpenRow& open : work.open_rows) rows.push_back(open.r);
  work.rounding_rows->read(work.tile, rows);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    work.open_columns.clear();
    for (const Element& e : work.open_rows[k].elements) {
      const ElementDecision decision = decide(*work.rounding_rows, k, e);
      if (decision.within.is_decided()) {
        record(work, e, decision);
      } else {
        work.open_columns.push_back(e.column);
      }
    }
    if (work.open_columns.empty()) continue;
    const FilterRow& row = work.tile.rows[rows[k]];
    rows_.of(work.tile.batch, work.tile.kv_head)
        ->audit_columns(row.head, row.row, work.open_columns, work.tally);
  }
  work.open_rows.clear();
}

}  // namespace gqa
