#include "gqa/audit/filter/tile_auditor.hpp"

#include <algorithm>
#include <cmath>

#include "gqa/audit/filter/filter_bias.hpp"
#include "gqa/audit/filter/tile_auditor.detail.hpp"
#include "gqa/audit/filter/vector_decision.hpp"
#include "gqa/audit/filter/vector_exp.hpp"

namespace gqa {
namespace {

// Rows of a tile whose null outputs the tile's sums do not refute and that are looked at once more:
// one refuted row is enough for a verdict.
constexpr std::int64_t most_unrefuted_asked = 2;

}  // namespace

std::shared_ptr<const RowAuditor> RowAuditors::of(std::int64_t batch, std::int64_t kv_head) {
  return latest_.of(batch, kv_head, [&] {
    return std::make_shared<const RowAuditor>(problem_, options_, batch, kv_head);
  });
}

TileAuditor::TileAuditor(const AttentionProblem& problem, const AuditOptions& options)
    : problem_(problem),
      options_(options),
      model_(std::get_if<ModelTolerance>(&options.tolerance)),
      ulps_(problem.output->format()),
      largest_(problem.output->format().maximum()),
      rows_(problem, options),
      small_values_(histories_at_once()),
      checked_(self_check_rows(problem, options)) {
  if (model_ == nullptr) {
    stated_.emplace(options.tolerance);
    return;
  }
  const PrecisionModel& model = *model_->model;
  likely_.emplace(LikelyContext{model, problem.dimensions.key_size, options.recorded,
                                problem.contract.softcap == 0 && !problem.has_bias(),
                                problem.has_two_biases(), problem.has_bias(),
                                std::make_shared<EqualHistories>(problem, model.value > 0)});
}

void TileAuditor::audit_tile(const FilterTile& tile, AuditTally& tally) {
  Work work{.tile = tile, .tally = tally};
  if (likely_ && likely_->model.value > 0) {
    work.equal = likely_->equal->of(tile.batch, tile.kv_head);
  }
  work.outputs.resize(padded(static_cast<std::size_t>(problem_.dimensions.value_size)));
  work.sure_errors.resize(work.outputs.size());
  work.sure_shares.resize(work.outputs.size());
  const Dimensions& d = problem_.dimensions;
  const auto is_known = [&] { return !options_.all_violations && tally.violations > 0; };
  for (std::size_t r = 0; r < tile.rows.size() && !is_known(); ++r) {
    const FilterRow& row = tile.rows[r];
    if (row.open || row.visible == 0) {
      rows_.of(tile.batch, tile.kv_head)->audit_row(row.head, row.row, tally);
      continue;
    }
    const std::int64_t number = (tile.batch * d.q_heads + row.head) * d.queries + row.row;
    if (std::ranges::binary_search(checked_, number)) {
      work.checked[r].assign(static_cast<std::size_t>(tile.columns), Uncertain::unknown());
    }
    audit_row(r, work);
    if (!work.open_columns.empty()) {
      rows_.of(tile.batch, tile.kv_head)
          ->audit_columns(row.head, row.row, work.open_columns, tally);
    }
    if (work.open_rows.size() == RoundingRows::most_rows) decide_open_rows(work);
  }
  if (!is_known()) decide_open_rows(work);
  check_rows(work);
}

void TileAuditor::check_rows(Work& work) {
  const FilterTile& tile = work.tile;
  for (const auto& [r, verdicts] : work.checked) {
    const auto found = find_contradiction(problem_, options_, tile, r, verdicts);
    if (found) throw SelfCheckError(self_check_message(*found));
    ++work.tally.self_checked;
  }
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
    sure = surely_within(row, format, stated_->sure_allowance(), work.sure_errors.data(),
                         work.sure_shares.data());
  } else if (const auto allowance = work.likely->sure_allowance()) {
    sure = surely_within(row, format, *allowance, work.sure_errors.data(), work.sure_shares.data());
  } else {
    std::ranges::fill(work.sure_errors, not_sure);
  }
  if (work.checked.contains(r)) {
    for (std::int64_t c = 0; c < tile.columns; ++c) {
      if (work.sure_errors[static_cast<std::size_t>(c)] != not_sure) {
        work.note(r, c, Uncertain::yes());
      }
    }
  }
  AuditTally& tally = work.tally;
  tally.elements += sure.count;
  tally.decided_by_filter += sure.count;
  tally.add_errors(sure.max_absolute_error, sure.max_ulp_error, sure.ulp_units, sure.count);
  tally.max_share = std::max(tally.max_share, sure.max_share);
  if (tally.error_map.is_kept()) map_sure_elements(r, work);
  if (!tally.may_be_worst(sure.max_share)) return;
  for (std::int64_t c = 0; c < tile.columns; ++c) {
    const auto at = static_cast<std::size_t>(c);
    if (work.sure_errors[at] == not_sure || !tally.may_be_worst(work.sure_shares[at])) continue;
    const Element e = element(work, r, c);
    Answer answer = decide(work, e);
    answer.decision = {Uncertain::yes(), FailureStrength::none};
    tally.add_worst(worst_element(work, e, in_ulps(e.error, e.ulps), answer));
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

// Of a model, by what the tile knows; what that leaves open is asked of the values once more.
Interval TileAuditor::allowance(const Work& work, const Element& e) const {
  const Interval allowed = work.likely->allowance(e.column, e.radius);
  if (within(e.error, allowed).is_decided()) return allowed;
  return work.likely->allowance(e.column, e.radius, small_values(work.tile).get());
}

std::shared_ptr<const SmallValues> TileAuditor::small_values(const FilterTile& tile) const {
  return small_values_.of(tile.batch, tile.kv_head, [&] {
    return std::make_shared<const SmallValues>(problem_, tile.batch, tile.kv_head);
  });
}

// By what the tile knows.
inline TileAuditor::Answer TileAuditor::decide(const Work& work, const Element& e) const {
  if (!work.likely) {
    const Interval allowed = stated_->allowed(e.magnitude, e.ulps);
    return {{within(e.error, allowed), FailureStrength::proved}, allowed};
  }
  const Interval allowed = allowance(work, e);
  const Uncertain likely = within(e.error, allowed);
  if (likely.certainly()) return {{likely, FailureStrength::none}, allowed};
  // Whether the worst case explains it is asked once more where that is accepted. How strong a
  // failure is, the audit asks of the worst elements alone: of every wrong element it would cost
  // many times the audit.
  const Uncertain within = model_->accept_worst_case ? Uncertain::unknown() : likely;
  return {{within, FailureStrength::statistical}, allowed};
}

void TileAuditor::record(Work& work, const Element& e, const Answer& answer) const {
  AuditTally& tally = work.tally;
  work.note(e.r, e.column, answer.decision.within);
  const FilterRow& row = work.tile.rows[e.r];
  ++tally.elements;
  ++tally.decided_by_filter;
  const Bounds ulp_error = in_ulps(e.error, e.ulps);
  const std::int64_t place = work.tile.batch * problem_.dimensions.q_heads + row.head;
  tally.add_errors({e.error.lower, e.error.upper}, ulp_error,
                   std::abs(e.output - e.centre) / e.ulps.upper);
  tally.error_map.add_error(place, row.row, ulp_error.upper);
  const WorstElement worst = worst_element(work, e, ulp_error, answer);
  if (answer.decision.within.certainly_not()) {
    tally.add_violation(place, row.row, e.column);
    if (answer.decision.strength == FailureStrength::proved) ++tally.proved_violations;
  } else {
    tally.max_share = std::max(tally.max_share, worst.share());
    if (!tally.may_be_worst(worst.share())) return;
  }
  tally.add_worst(worst);
}

// No rounding makes a NaN of finite operands where overflow makes an infinity: nothing more need be
// known, and an output that holds nothing else is decided at once.
void TileAuditor::record_nan(Work& work, const Element& e) const {
  AuditTally& tally = work.tally;
  work.note(e.r, e.column, Uncertain::no());
  const FilterRow& row = work.tile.rows[e.r];
  ++tally.elements;
  ++tally.decided_by_filter;
  ++tally.proved_violations;
  tally.add_violation(work.tile.batch * problem_.dimensions.q_heads + row.head, row.row, e.column);
  const double infinity = std::numeric_limits<double>::infinity();
  const Interval allowed = decide(work, e).allowed;
  WorstElement worst;
  worst.index = {work.tile.batch, row.head, row.row, e.column};
  worst.output = e.output;
  worst.within = Uncertain::no();
  worst.reference = {std::nextafter(e.centre - e.radius, -infinity),
                     std::nextafter(e.centre + e.radius, infinity)};
  worst.allowed = {allowed.lower, allowed.upper};
  tally.add_worst(worst);
}

WorstElement TileAuditor::worst_element(const Work& work, const Element& e, const Bounds& ulp_error,
                                        const Answer& answer) const {
  return measured_element(
      {work.tile.batch, work.tile.rows[e.r].head, work.tile.rows[e.r].row, e.column}, e.output,
      e.centre, e.radius, e.error, ulp_error, answer.allowed, answer.decision.within);
}

void TileAuditor::audit_row(std::size_t r, Work& work) {
  const FilterTile& tile = work.tile;
  const FilterRow& row = tile.rows[r];
  problem_.output->read_rows(tile.batch, row.head, row.row, row.row + 1, work.outputs.data(),
                             static_cast<std::size_t>(tile.columns));
  work.open_columns.clear();
  if (likely_) {
    work.likely.emplace(*likely_, tile, r, problem_.sink_of(row.head), work.equal.get());
  }
  settle_sure_elements(r, work);
  OpenRow open{r, {}};
  for (std::int64_t c = 0; c < problem_.dimensions.value_size; ++c) {
    if (work.sure_errors[static_cast<std::size_t>(c)] != not_sure) continue;
    Element e = element(work, r, c);
    if (std::isnan(e.output) && problem_.output->format().has_infinity) {
      record_nan(work, e);
      continue;
    }
    if (std::abs(e.output) >= largest_ || !std::isfinite(e.output) ||
        e.ulps.upper > 2 * e.ulps.lower) {
      // May stand for what is beyond the largest number; or so close to zero that an error in
      // ulps would say nothing.
      work.open_columns.push_back(c);
      continue;
    }
    const Answer answer = decide(work, e);
    if (answer.decision.within.is_decided()) {
      record(work, e, answer);
    } else if (likely_) {
      e.lost_values = work.likely->lost_values(c, e.radius, small_values(tile).get());
      e.allowed_at_least = answer.allowed.lower;
      open.elements.push_back(e);
    } else {
      work.open_columns.push_back(c);
    }
  }
  refute_nulls(r, work);
  open.nulls = likely_ && work.nulls.counts() && !work.nulls.refutes_zeros() &&
               work.unrefuted_asked < most_unrefuted_asked;
  if (open.nulls) {
    ++work.unrefuted_asked;
  } else {
    work.nulls.add_to(work.tally.nulls);
  }
  if (open.nulls || !open.elements.empty()) work.open_rows.push_back(std::move(open));
}

// What a null output would be off by is the magnitude of the reference: where that is largest, it
// is most easily seen; under a stated tolerance everywhere, if not there.
void TileAuditor::refute_nulls(std::size_t r, Work& work) {
  const FilterTile& tile = work.tile;
  const auto ask = [&](std::int64_t c) {
    const Element e = element(work, r, c);
    const Interval allowed =
        work.likely ? work.likely->allowance(c, e.radius) : stated_->allowed(e.magnitude, e.ulps);
    const bool is_worst = model_ != nullptr && model_->accept_worst_case;
    work.nulls.add(e.magnitude.lower,
                   is_worst ? std::numeric_limits<double>::infinity() : allowed.upper);
  };
  work.nulls = {};
  std::int64_t largest = 0;
  for (std::int64_t c = 1; c < tile.columns; ++c) {
    if (std::abs(tile.output(r, c)) > std::abs(tile.output(r, largest))) largest = c;
  }
  if (tile.columns > 0) ask(largest);
  if (work.nulls.is_settled() || work.likely) return;
  for (std::int64_t c = 0; c < tile.columns && !work.nulls.is_settled(); ++c) ask(c);
}

}  // namespace gqa
