#include "gqa/audit/filter/filter_row_state.hpp"

#include <algorithm>
#include <cmath>

namespace gqa {
namespace {

void scale_moments(WeightMoments& moments, double factor) {
  for (double& m : moments.first) m *= factor;
  for (double& m : moments.second) m *= factor * factor;
}

// Moments of y + offset from those of y.
void move_moments(double (&m)[3], double offset) {
  m[2] += offset * (2 * m[1] + offset * m[0]);
  m[1] += offset * m[0];
}

}  // namespace

void RowState::start_with_sink(double logit) {
  if (logit == -std::numeric_limits<double>::infinity()) return;
  if (!std::isfinite(logit)) {
    open = true;
    return;
  }
  sink = true;
  shift = maximum = reference = logit;
  sum = 1.0;
}

// The factor of sums whose shift moves up; notes what the bound must know.
double RowState::factor_to(double new_shift, double old_shift) {
  const double step = new_shift - old_shift;
  if (step == 0) return 1.0;
  // All keys so far are negligible now (filter_bound.hpp).
  if (step > negligible_below) return 0.0;
  travel += step;
  ++rescales;
  return exp_one(-step);
}

void RowState::scale_sums(double factor) {
  sum *= factor;
  scale_moments(moments, factor);
}

double RowState::raise_shift(double largest) {
  maximum = std::max(maximum, largest);
  if (shift == -std::numeric_limits<double>::infinity()) {
    shift = reference = largest;
    return 0.0;
  }
  if (!(largest > shift + lift_limit)) return 1.0;
  const double factor = factor_to(largest, shift);
  shift = largest;
  scale_sums(factor);
  if (factor == 0.0) reference = largest;
  return factor;
}

RowState::JoinFactors RowState::join(const RowState& other) {
  constexpr double nothing = -std::numeric_limits<double>::infinity();
  open = open || other.open;
  sink = sink || other.sink;
  visible += other.visible;
  blocks += other.blocks + 1;
  rescales += other.rescales;
  travel += other.travel;
  tags.join(other.tags);
  raw_tags.join(other.raw_tags);
  maximum = std::max(maximum, other.maximum);
  if (other.shift == nothing) return {1.0, 0.0};
  JoinFactors factors{1.0, 1.0};
  if (shift == nothing) {
    shift = other.shift;
    reference = other.reference;
    factors.own = 0.0;
  } else if (other.shift > shift) {
    factors.own = factor_to(other.shift, shift);
    shift = other.shift;
  } else {
    factors.others = factor_to(shift, other.shift);
  }
  scale_sums(factors.own);
  if (factors.own == 0.0) reference = other.reference;
  sum += other.sum * factors.others;
  WeightMoments more = other.moments;
  scale_moments(more, factors.others);
  move_moments(more.first, other.reference - reference);
  move_moments(more.second, other.reference - reference);
  moments += more;
  return factors;
}

RowHistory RowState::history(const FilterShape& shape, const Dimensions& dimensions,
                             double key_square_sum) const {
  RowHistory history;
  history.query_norm = upper_norm(query_square_sum, dimensions.key_size);
  history.key_norm = upper_norm(key_square_sum, dimensions.key_size);
  history.shift = shift;
  history.lift = std::max(maximum - shift, 0.0);
  history.travel = travel;
  history.denominator = sum;
  history.terms = visible + (sink ? 1 : 0);
  history.block = std::min(static_cast<std::int64_t>(shape.keys), visible);
  history.blocks = blocks;
  history.rescales = rescales;
  return history;
}

RowStatistics RowState::statistics() const {
  RowStatistics result;
  const auto& first = moments.first;
  const auto& second = moments.second;
  result.query_norm4_squared = std::sqrt(query_fourth_sum);
  if (std::isfinite(moments.minimum)) result.score_minimum = moments.minimum;
  if (!(first[0] > 0) || !(second[0] > 0) || !(sum > 0)) return result;
  // Where the mean is far from the reference, little of the difference is right: what it may
  // lack is added, so that a bound made of it is not too small.
  const double lost = 8 * (static_cast<double>(visible) + 64) * 0x1p-53;
  const auto variance = [lost](const double(&m)[3]) {
    const double mean = m[1] / m[0];
    return std::max(m[2] / m[0] - mean * mean, 0.0) + lost * (m[2] / m[0]);
  };
  result.score_mean = reference + first[1] / first[0];
  result.score_variance = variance(first);
  result.square_weight = second[0] / sum / sum;
  result.square_score_mean = reference + second[1] / second[0];
  result.square_score_variance = variance(second);
  return result;
}

}  // namespace gqa
