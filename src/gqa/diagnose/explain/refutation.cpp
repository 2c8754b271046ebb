#include "gqa/diagnose/explain/refutation.hpp"

#include <algorithm>
#include <cmath>

#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

// In units of what is allowed; what is beyond all measure counts alike.
double in_units(double distance, double allowed) {
  constexpr double most = 1e6;
  if (distance == 0) return 0;
  const double units = std::abs(distance) / allowed;
  return units < most ? units : most;
}

// An element that moves by less than that is not what the hypothesis is about.
constexpr double changed_share = 1.0 / 64;

}  // namespace

void Refutation::add(const RowComparison& compared, const EvaluatedRow<double>& declared) {
  const EvaluatedRow<double>& row = compared.expected;
  if (row.anything) return;
  bool differs_from_null = false, not_null = false, not_declared = declared.anything;
  for (std::size_t c = 0; c < row.output.size(); ++c) {
    const bool is_nan = row.is_nan[c] != 0;
    const bool declared_nan = !declared.anything && declared.is_nan[c] != 0;
    if (is_nan || declared_nan) {
      differs_from_null = differs_from_null || is_nan;
      not_null = not_null || is_nan;
      not_declared = not_declared || is_nan != declared_nan;
      if (is_nan) continue;
    }
    const double expected = row.output[c];
    // What a narrow running sum leaves open beside its rounding is not what it says.
    const double slack = row.slack.empty() ? 0 : row.slack[c];
    const double allowed = compared.allowed[c] - slack;
    const double null = in_units(expected, allowed);
    differs_from_null = differs_from_null || expected != 0;
    not_null = not_null || null > 1;
    residual_ += square(in_units(compared.distance[c], allowed));
    from_null_ += square(null);
    if (declared.anything || declared_nan) continue;
    const double change = in_units(declared.output[c] - expected, allowed);
    not_declared = not_declared || change > 1;
    if (change < changed_share) continue;
    from_declared_ += square(change);
    residual_of_changed_ += square(in_units(compared.distance[c], allowed));
  }
  rows_ += differs_from_null ? 1 : 0;
  rows_not_null_ += not_null ? 1 : 0;
  rows_not_declared_ += not_declared ? 1 : 0;
}

bool Refutation::says_something() const {
  constexpr double quarter = 0.25;  // half, squared
  if (rows_not_declared_ == 0) return false;
  if (residual_of_changed_ > quarter * from_declared_) return false;
  if (rows_ == 0) return true;
  return 2 * rows_not_null_ > rows_ && residual_ <= quarter * from_null_;
}

}  // namespace gqa
