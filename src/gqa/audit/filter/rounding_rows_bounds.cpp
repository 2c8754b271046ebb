// What RoundingRows makes of the sums that it read.
#include <algorithm>
#include <cmath>

#include "gqa/audit/filter/rounding_rows.hpp"
#include "gqa/num/arithmetic.hpp"
#include "gqa/num/roundoff.hpp"

namespace gqa {
namespace {

// NaN stays in the upper bound, where it excludes nothing.
Interval around(double centre, double error) {
  const double upper = centre + error;
  return {std::max(0.0, centre - error), upper < 0 ? 0 : upper};
}

// The root of what lies in `squares`, moved by at most `shift`.
Interval root(const Interval& squares, double shift) {
  return {std::max(0.0, std::sqrt(squares.lower) - shift), std::sqrt(squares.upper) + shift};
}

Interval coherence_of(double least_spacing, double most_spacing, const Interval& deviation) {
  return {coherence(least_spacing, deviation.upper), coherence(most_spacing, deviation.lower)};
}

Ball hull_of(const Interval& interval) {
  return Ball::hull(Ball(interval.lower), Ball(interval.upper));
}

}  // namespace

void RoundingRows::finish_row(Row& row) const {
  const PrecisionModel& model = context_.model;
  const FilterRow& source = *row.source;
  const auto n = static_cast<double>(source.visible);
  const double radius = source.score_radius;
  const auto key_size = static_cast<double>(context_.key_size);
  const double amplified =
      1 + (square(model.score) * key_size + (rounds_operands() ? 0 : square(model.stored_score))) /
              square(model.exponential);
  const double weight_error = 2 * (radius + source.lse_radius + 0x1p-40);
  row.sum_error = (n + 64) * 0x1p-52;
  row.weight_error = weight_error + row.sum_error;
  row.square_error = 2 * weight_error + row.sum_error;
  row.variance_error = row.square_error + 4 * radius * amplified + 0x1p-46;
  if (rounds_operands()) {
    const double product_error = gamma(key_size + 1) + constants_.scale_error + unit_roundoff64;
    row.variance_error += 4 * product_error * key_size * square(model.stored_score / model.operand);
  }
  // Beyond that the squares of errors would count.
  row.usable = row.variance_error <= 0x1p-12 && row.weight > 0;
  row.least.visible = row.most.visible = n;
  row.least.key_size = row.most.key_size = static_cast<double>(context_.key_size);
  if (model.weights_scaled) {
    row.least.weight_underflow *= 1 - 0x1p-20;
    row.most.weight_underflow *= 1 + 0x1p-20;
  }
  const double lost_error = 6 * n * model.denominator * row.weight_error;
  row.least.lost_weights = around(row.lost_weights, lost_error).lower;
  row.most.lost_weights = around(row.lost_weights, lost_error).upper;
  // Not known counts as some.
  row.may_repeat = source.most_equal_scores != 1 || model.value > 0;
  bound_deviations(row);
  bound_weak_keys(row);
}

void RoundingRows::bound_deviations(Row& row) const {
  const PrecisionModel& model = context_.model;
  const FilterRow& source = *row.source;
  const double n = row.least.visible;
  const double shift = 2 * source.score_radius;
  double first = row.first_moment;
  double second = row.second_moment;
  if (row.sink) {
    const double weight = std::exp(*row.sink - source.lse);
    const double distance = *row.sink - source.statistics.score_mean;
    first += weight * distance;
    second += weight * square(distance);
    const double variance =
        sink_score_variance(model, weight, *row.sink, *row.sink - source.maximum);
    const Interval bounds = around(variance, 4 * (row.weight_error + shift) * variance);
    row.least.sink_variance = bounds.lower;
    row.most.sink_variance = bounds.upper;
  }
  const Interval scores =
      root(around(second - square(first), 8 * row.weight_error * second), shift);
  row.least.score_deviation = scores.lower;
  row.most.score_deviation = scores.upper;
  const double key_second = row.second_moment / row.weight;
  const Interval key_scores = root(
      around(key_second - square(row.first_moment / row.weight), 8 * row.weight_error * key_second),
      shift);
  const Interval common = coherence_of(model.weight, model.weight, key_scores);
  row.least.weight_coherence = common.lower;
  row.most.weight_coherence = common.upper;
  const double mean_square = row.square_weight / n;
  const Interval sums =
      root(around(mean_square - square(row.weight / n), 8 * row.square_error * mean_square), 0);
  const Interval drift = coherence_of(2 * model.denominator, 2 * model.denominator, sums);
  row.least.denominator_coherence = drift.lower;
  row.most.denominator_coherence = drift.upper;
}

// Sums over the keys that do not dominate are off by at most 3 d_w times those over all keys.
void RoundingRows::bound_weak_keys(Row& row) const {
  const PrecisionModel& model = context_.model;
  row.least.weak_coherence = row.least.stored_score_coherence = 0;
  row.most.weak_coherence = row.most.stored_score_coherence = 1;
  row.weak_mean = {0, std::numeric_limits<double>::infinity()};
  const double relative = 3 * row.weight_error;
  const double least_weight = row.weak_weight - relative * row.weight;
  if (!(least_weight > 0)) return;
  const double shift = 2 * row.source->score_radius;
  const double mean = row.weak_first / row.weak_weight;
  const double second = row.weak_second / row.weak_weight;
  const double lost = relative * row.weight / least_weight;
  const double all = std::sqrt(row.weight * row.second_moment);
  const double mean_error = relative * all / least_weight + std::abs(mean) * lost;
  const double second_error = relative * row.second_moment / least_weight + second * lost;
  const Interval deviation =
      root(around(second - square(mean),
                  second_error + 2 * std::abs(mean) * mean_error + square(mean_error)),
           shift);
  row.weak_mean = {mean, mean_error + shift};
  const Interval weak = coherence_of(model.weight, model.weight, deviation);
  row.least.weak_coherence = weak.lower;
  row.most.weak_coherence = weak.upper;
  const Interval largest = around(row.weak_score, 2 * row.weight_error * row.score + shift);
  const Interval stored = coherence_of(2 * model.stored_score * largest.lower,
                                       2 * model.stored_score * largest.upper, deviation);
  row.least.stored_score_coherence = stored.lower;
  row.most.stored_score_coherence = stored.upper;
}

void RoundingRows::bound_weak_column(const Row& row, std::size_t at, LikelyColumn<double>& sums,
                                     bool upper) const {
  const PrecisionModel& model = context_.model;
  const auto end = [upper](const Interval& bounds) { return upper ? bounds.upper : bounds.lower; };
  const double relative = 3 * row.weight_error;
  const double magnitude = with_magnitudes(weights, at);
  const double weak_sum = with_values(weak, at);
  sums.weak_output = end(around(std::abs(weak_sum), relative * magnitude));
  if (model.stored_score > 0) {
    const double covariance = with_values(weak_scores, at) - row.weak_mean.lower * weak_sum;
    const double error = relative * (std::sqrt(row.second_moment * with_squares(weights, at)) +
                                     std::abs(row.weak_mean.lower) * magnitude) +
                         2 * row.source->score_radius * magnitude +
                         row.weak_mean.upper * (std::abs(weak_sum) + relative * magnitude);
    sums.score_covariance = end(around(std::abs(covariance), error));
  }
}

bool RoundingRows::underflow_counts() const {
  return std::max(context_.model.weight_underflow, context_.model.inner_underflow) > 0x1p-100;
}

// With n keys of the column's largest |v| at most.
void RoundingRows::bound_underflow(const Row& row, std::size_t at, LikelyColumn<double>& sums,
                                   bool upper) const {
  const auto end = [upper](const Interval& bounds) { return upper ? bounds.upper : bounds.lower; };
  const double n = row.least.visible;
  const double largest = largest_value(at);
  const double most = n * row.most.weight_underflow * largest;
  if (!underflow_counts()) {
    sums.squares = end({0, n * square(largest)});
    sums.sum = end({0, n * largest});
    sums.underflown_values = end({0, most});
    return;
  }
  const double squares = with_squares(ones, at);
  sums.squares = end(around(squares, 2 * row.sum_error * squares));
  sums.sum =
      end(around(std::abs(with_values(ones, at)), 2 * row.sum_error * std::sqrt(n * squares)));
  const double error =
      most * (10 * row.weight_error + (context_.model.weights_scaled ? 0x1p-16 : 0));
  sums.underflown_values = end(around(with_magnitudes(underflown, at), error));
}

// A unit is off by what the magnitude of the output and the sum of squares are off by.
void RoundingRows::bound_refined(const Row& row, std::size_t at, double radius,
                                 LikelyColumn<double>& sums, bool upper) const {
  const auto end = [upper](const Interval& bounds) { return upper ? bounds.upper : bounds.lower; };
  const double n = row.least.visible;
  const double accumulation = context_.model.accumulation;
  const double squares = std::sqrt(with_squares(square_weights, at));
  const double magnitude = std::abs(output(row, at % shape_.value_stride)) + squares;
  const double unit_error = accumulation * (radius + squares * row.square_error);
  sums.lost_values = end(around(
      lost_values_[at], n * (6 * accumulation * magnitude * row.weight_error + 5 * unit_error)));
  if (!rounds_operands()) return;
  // The root of the sum moves by the root of what its terms move by.
  const double largest =
      std::sqrt(row.source->statistics.query_norm4_squared * tile_->key_norm4_squared_maximum);
  const double moved =
      largest * (4 * row.weight_error * std::sqrt(with_squares(weights, at)) + radius);
  sums.query_covariance =
      square(end(root({query_covariances_[at], query_covariances_[at]}, moved)));
}

LikelyColumn<double> RoundingRows::column_bound(const Row& row, std::size_t at, const Interval& o,
                                                double radius, bool upper) const {
  const auto end = [upper](const Interval& bounds) { return upper ? bounds.upper : bounds.lower; };
  const double n = row.least.visible;
  const double centre = (o.lower + o.upper) / 2;
  const double moved = 2 * o.upper * radius + square(radius);
  const double weighted = with_squares(square_weights, at);
  LikelyColumn<double> sums;
  sums.output = end(o);
  sums.weighted_squares = end(around(weighted, 2 * row.square_error * weighted));
  bound_underflow(row, at, sums, upper);
  // sum a (v - o)^2 = sum a v^2 - 2 o sum a v + o^2 sum a
  const double reference = output(row, at % shape_.value_stride);
  const double about_zero = with_squares(variances, at);
  const double mass = about_zero + square(reference) * row.variance_weight;
  const double spread = mass - 2 * reference * with_values(variances, at);
  const double lost = 2 * row.variance_error * std::abs(spread) + 16 * row.sum_error * mass;
  sums.spread = square(
      end(root(around(spread, lost), radius * std::sqrt(row.variance_weight) * (1 + 0x1p-10))));
  // With the sink's zero the weights sum to one and their mean is o.
  const double second = with_squares(weights, at);
  const Interval values =
      root(around(second - square(centre), 4 * row.weight_error * second + moved), 0);
  sums.value_deviation = end(values);
  const double value_spacing = 2 * context_.model.value;
  sums.value_coherence =
      end(coherence_of(value_spacing * o.lower, value_spacing * o.upper, values));
  bound_weak_column(row, at, sums, upper);
  if (row.refined) bound_refined(row, at, radius, sums, upper);
  if (row.refined && row.equal) bound_equal(row, at, radius, sums, upper);
  const Interval terms = root(around(weighted / n - square(centre / n),
                                     4 * row.square_error * weighted / n + moved / square(n)),
                              0);
  const double spacing = 2 * context_.model.accumulation;
  sums.accumulation_coherence = end(coherence_of(spacing * o.lower, spacing * o.upper, terms));
  return sums;
}

Interval RoundingRows::likely(std::size_t k, std::int64_t column, double radius,
                              double lost_values) const {
  const Row& row = rows_[k];
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (!row.usable) return {0, infinity};
  const auto c = static_cast<std::size_t>(column);
  const std::size_t at = k * shape_.value_stride + c;
  const Interval o = magnitude_interval(output(row, at % shape_.value_stride), radius);
  const double lower = likely_bound(context_.model, row.least,
                                    column_bound(row, at, o, radius, false), context_.recorded);
  const double tiny = underflow_allowance(row.least.visible, tile_->column_maximum[c]);
  const double least = lower * (1 - 0x1p-40) - tiny;
  const Interval open{least > 0 && least < infinity ? least : 0, infinity};
  if (!row.refined && (rounds_operands() || row.may_repeat || lost_values == infinity)) {
    return open;
  }
  LikelyColumn<double> most = column_bound(row, at, o, radius, true);
  if (!row.refined) most.lost_values = lost_values;
  const double upper = likely_bound(context_.model, row.most, most, context_.recorded);
  return {open.lower, upper * (1 + 0x1p-40) + tiny};
}

// Which key is the worst is known but for softcap and bias, where the score counts as well.
WorstBound RoundingRows::worst_of(const Row& row) const {
  const auto near = [&row](double value) {
    const double error = value * 0x1p-40 + 2 * row.source->score_radius;
    return hull_of(around(value, error));
  };
  ScoreMagnitudes magnitudes;
  magnitudes.key_size = context_.key_size;
  magnitudes.plain = context_.plain;
  magnitudes.scale = problem_.scale_ball();
  magnitudes.query_norm2 = near(row.query_norm2);
  magnitudes.key_norm2 = near(row.key_norm2);
  const Ball least = largest_score_error(context_.model, magnitudes);
  magnitudes.softcap = Ball(problem_.contract.softcap);
  magnitudes.raw = near(row.raw);
  magnitudes.score = near(row.score);
  if (row.bias > 0) magnitudes.bias = near(row.bias);
  RowExtremes extremes;
  extremes.visible = row.source->visible;
  extremes.sink = row.sink.has_value();
  extremes.score_error = Ball::hull(least, largest_score_error(context_.model, magnitudes));
  extremes.distance = near(row.distance);
  extremes.magnitude = near(row.score);
  if (row.sink) {
    extremes.distance = near(std::max(row.distance, row.source->maximum - *row.sink));
    extremes.magnitude = near(std::max(row.score, std::abs(*row.sink)));
  }
  return {context_.model, extremes};
}

std::optional<Interval> RoundingRows::worst(std::size_t k, std::int64_t column, double radius) {
  Row& row = rows_[k];
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (!row.usable) return Interval{0, infinity};
  if (!row.worst) row.worst.emplace(worst_of(row));
  if (row.worst->is_bounded().certainly_not()) return std::nullopt;
  const auto c = static_cast<std::size_t>(column);
  const double mean = with_magnitudes(weights, k * shape_.value_stride + c);
  // The largest |v| of the row is between these; what underflows alone is measured by it.
  const double largest = tile_->column_maximum[c];
  const double squares = underflow_counts() ? with_squares(ones, k * shape_.value_stride + c) : 0;
  const double rms = (1 - 0x1p-20) * std::sqrt(squares / row.least.visible);
  const double tiny = underflow_allowance(row.least.visible, largest);
  const Ball bound = (*row.worst)(
      {hull_of(magnitude_interval(output(row, c), radius)),
       hull_of(around(mean, 2 * row.weight_error * mean + tiny)), hull_of({rms, largest})},
      context_.recorded);
  if (!bound.is_finite()) return Interval{0, infinity};
  return Interval{std::max(0.0, bound.lower_double()), bound.upper_double()};
}

}  // namespace gqa
