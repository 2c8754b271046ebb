// TileAuditor's second look: both bounds of a model for rows that the tile's sums leave open.
#include <algorithm>
#include <limits>

#include "gqa/audit/filter/tile_auditor.detail.hpp"

namespace gqa {

// What a null output of the k-th open row is allowed.
Interval TileAuditor::null_allowance(RoundingRows& rows, std::size_t k, std::int64_t column,
                                     double radius) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Interval worst = rows.worst(k, column, radius).value_or(Interval{infinity, infinity});
  if (model_->accept_worst_case) return worst;
  const Interval likely = rows.likely(k, column, radius);
  return {std::min(likely.lower, worst.lower), std::min(likely.upper, worst.upper)};
}

// By both bounds of the k-th open row.
TileAuditor::Answer TileAuditor::decide(RoundingRows& rows, std::size_t k, const Element& e) const {
  const Interval likely = rows.likely(k, e.column, e.radius, e.lost_values);
  const Uncertain is_likely = within(e.error, likely);
  // How strong a failure is, and what exactly is allowed, the audit asks of the worst elements
  // alone.
  if (!model_->accept_worst_case && is_likely.certainly_not()) {
    return {{is_likely, FailureStrength::statistical}, {e.allowed_at_least, likely.upper}};
  }
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto worst = rows.worst(k, e.column, e.radius);
  // Where nothing bounds the worst case, nothing is proved.
  std::optional<Uncertain> possible;
  if (worst) possible = within(e.error, *worst);
  const Interval most = worst.value_or(Interval{infinity, infinity});
  const Interval smaller{std::min(likely.lower, most.lower), std::min(likely.upper, most.upper)};
  return {by_bounds(is_likely, possible, model_->accept_worst_case),
          model_->accept_worst_case ? most : smaller};
}

// Both bounds of all rows that wait, and enclosures for what they too leave open.
void TileAuditor::decide_open_rows(Work& work) {
  if (work.open_rows.empty()) return;
  if (!work.rounding_rows) work.rounding_rows = std::make_unique<RoundingRows>(problem_, *likely_);
  std::vector<std::size_t> rows;
  for (const OpenRow& open : work.open_rows) rows.push_back(open.r);
  work.rounding_rows->read(work.tile, rows);
  refine_open_rows(work);
  for (std::size_t k = 0; k < rows.size(); ++k) decide_open_row(k, work);
  work.open_rows.clear();
}

// The rows in which something is beyond what is known without a second look.
void TileAuditor::refine_open_rows(Work& work) {
  RoundingRows& rows = *work.rounding_rows;
  std::vector<std::size_t> further;
  std::vector<std::vector<std::size_t>> columns;
  for (std::size_t k = 0; k < work.open_rows.size(); ++k) {
    const OpenRow& open = work.open_rows[k];
    const bool is_open = std::ranges::any_of(open.elements, [&](const Element& e) {
      return !decide(rows, k, e).decision.within.is_decided();
    });
    if (!open.nulls && !is_open) continue;
    further.push_back(k);
    columns.emplace_back();
    if (open.nulls) continue;  // of all
    for (const Element& e : open.elements) {
      columns.back().push_back(static_cast<std::size_t>(e.column));
    }
  }
  rows.refine(further, columns);
}

void TileAuditor::decide_open_row(std::size_t k, Work& work) {
  const OpenRow& open = work.open_rows[k];
  const FilterRow& row = work.tile.rows[open.r];
  work.open_columns.clear();
  for (const Element& e : open.elements) {
    const Answer answer = decide(*work.rounding_rows, k, e);
    if (answer.decision.within.is_decided()) {
      record(work, e, answer);
    } else {
      work.open_columns.push_back(e.column);
    }
  }
  if (!work.open_columns.empty()) {
    rows_.of(work.tile.batch, work.tile.kv_head)
        ->audit_columns(row.head, row.row, work.open_columns, work.tally);
  }
  if (!open.nulls) return;
  NullRow nulls;
  for (std::int64_t c = 0; c < work.tile.columns; ++c) {
    const double radius = work.tile.radius(open.r, c);
    nulls.add(magnitude_interval(work.tile.output(open.r, c), radius).lower,
              null_allowance(*work.rounding_rows, k, c, radius).upper);
  }
  nulls.add_to(work.tally.nulls);
}

}  // namespace gqa
