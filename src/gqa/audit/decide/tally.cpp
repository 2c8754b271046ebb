#include "gqa/audit/decide/tally.hpp"

#include <algorithm>
#include <cmath>

namespace gqa {
namespace {

// Violations first, then falling share of what is allowed, falling error (where nothing is allowed
// the share is infinite), rising index: a total order.
bool worse(const WorstElement& a, const WorstElement& b) {
  const bool a_violates = a.within.certainly_not();
  const bool b_violates = b.within.certainly_not();
  if (a_violates != b_violates) return a_violates;
  if (a.share() != b.share()) return a.share() > b.share();
  if (a.ulp_error.upper != b.ulp_error.upper) return a.ulp_error.upper > b.ulp_error.upper;
  return a.index < b.index;
}

void add(std::vector<std::int64_t>& to, const std::vector<std::int64_t>& from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

}  // namespace

double WorstElement::share() const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (!std::isfinite(output)) return within.certainly() ? 0 : infinity;
  if (absolute_error.upper == 0) return 0;
  const double taken = allowed.lower > 0 ? absolute_error.upper / allowed.lower : infinity;
  // What stands for a number beyond the format's largest one may be within at any distance.
  return within.certainly() ? std::min(taken, 1.0) : taken;
}

AuditTally::AuditTally(std::int64_t batch, std::int64_t heads, std::int64_t rows,
                       std::int64_t columns)
    : head_violations(static_cast<std::size_t>(batch * heads), 0),
      row_violations(static_cast<std::size_t>(rows), 0),
      column_violations(static_cast<std::size_t>(columns), 0) {}

void AuditTally::add_worst(const WorstElement& element) {
  if (worst.size() == worst_kept && !worse(element, worst.back())) return;
  worst.insert(std::ranges::upper_bound(worst, element, worse), element);
  if (worst.size() > worst_kept) worst.pop_back();
}

void AuditTally::keep_error_map() {
  error_map = ErrorMap(static_cast<std::int64_t>(head_violations.size()),
                       static_cast<std::int64_t>(row_violations.size()));
}

void AuditTally::add_violation(std::int64_t batch_head, std::int64_t row, std::int64_t column) {
  ++violations;
  ++head_violations[static_cast<std::size_t>(batch_head)];
  ++row_violations[static_cast<std::size_t>(row)];
  ++column_violations[static_cast<std::size_t>(column)];
  violating_rows.add(batch_head * static_cast<std::int64_t>(row_violations.size()) + row);
  error_map.add_violation(batch_head, row);
}

void AuditTally::merge(const AuditTally& other) {
  elements += other.elements;
  decided_by_filter += other.decided_by_filter;
  decided_by_enclosure += other.decided_by_enclosure;
  decided_exactly += other.decided_exactly;
  violations += other.violations;
  proved_violations += other.proved_violations;
  undecided += other.undecided;
  not_finite_references += other.not_finite_references;
  self_checked += other.self_checked;
  measured += other.measured;
  max_absolute_error.raise_to(other.max_absolute_error);
  max_ulp_error.raise_to(other.max_ulp_error);
  max_share = std::max(max_share, other.max_share);
  nulls.merge(other.nulls);
  ulp_sum_high += other.ulp_sum_high;
  add_ulps(other.ulp_sum_low);
  for (const WorstElement& element : other.worst) add_worst(element);
  add(head_violations, other.head_violations);
  add(row_violations, other.row_violations);
  add(column_violations, other.column_violations);
  violating_rows.merge(other.violating_rows);
  error_map.merge(other.error_map);
}

double AuditTally::mean_ulp() const {
  if (measured == 0) return 0;
  const double units =
      static_cast<double>(ulp_sum_high) * 0x1p32 + static_cast<double>(ulp_sum_low);
  return units * ulp_unit / static_cast<double>(measured);
}

}  // namespace gqa
