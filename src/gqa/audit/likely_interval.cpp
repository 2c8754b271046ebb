#include "gqa/audit/likely_interval.hpp"

#include <algorithm>

#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

constexpr double margin = 1e-3;

}  // namespace

LikelyInterval::LikelyInterval(const LikelyContext& context, const FilterTile& tile,
                               std::size_t row, std::optional<double> sink)
    // Where a row's weights are worse than that, so are its sums (squares_relative_error).
    : context_(context), tile_(tile), row_(row), usable_(tile.rows[row].epsilon <= 1e-7) {
  const FilterRow& source = tile.rows[row];
  const double n = static_cast<double>(source.visible);
  least_.visible = most_.visible = n;
  b_ = std::sqrt(source.statistics.square_weight);
  most_.score_deviation = std::sqrt(source.statistics.score_variance);
  if (sink) bound_sink(*sink);
  bound_scores();
  per_square_ =
      likely_variance(context.model, least_, LikelyColumn<double>{.weighted_squares = 1}) -
      likely_variance(context.model, least_, LikelyColumn<double>{});
  most_.weight_coherence = 1;
  const double spread = square(b_) / n * (1 - margin) - square(key_weight_ / n);
  most_.denominator_coherence =
      coherence(2 * context.model.denominator, std::sqrt(std::max(spread, 0.0)));
}

void LikelyInterval::bound_scores() {
  const RowStatistics& s = tile_.rows[row_].statistics;
  const auto variance = [this](const ScoreSquares<double>& squares) {
    return score_variance(context_.model, context_.key_size, context_.plain, squares);
  };
  const double most_products = s.query_norm4_squared * tile_.key_norm4_squared_maximum;
  least_sigma2_ = variance({s.query_norm4_squared * tile_.key_norm4_squared_minimum, 0, 0, 0});
  most_sigma2_ = variance({most_products, 0, 0, 0});
  const double scores = square(s.square_score_mean) + s.square_score_variance;
  const double below_maximum =
      square(s.square_score_mean - tile_.rows[row_].maximum) + s.square_score_variance;
  const double raw =
      context_.plain ? scores : static_cast<double>(context_.key_size) * most_products;
  const double sum = variance({0, raw, scores, below_maximum});
  // The difference may be small against what is subtracted.
  const double difference = std::max(0.0, sum - variance({0, 0, 0, 0})) + 0x1p-50 * sum;
  score_sum_ = s.square_weight * difference;
}

// sd_w(s) with the sink: both parts of the weights about their common mean.
void LikelyInterval::bound_sink(double logit) {
  const FilterRow& source = tile_.rows[row_];
  const double weight = std::exp(logit - source.lse);
  const double keys = std::max(0.0, 1 - weight * (1 - margin));
  const double distance = logit - source.statistics.score_mean;
  key_weight_ = std::min(1.0, keys);
  most_.score_deviation =
      std::sqrt(source.statistics.score_variance + std::min(weight, 0.25) * square(distance));
  most_.sink_variance = sink_score_variance(context_.model, weight, logit, logit - source.maximum);
}

Interval LikelyInterval::squares(std::int64_t column) const {
  const double sum = tile_.squares(row_, column);
  const double slack = tile_.squares_relative * sum + tile_.squares_absolute;
  return {std::max(0.0, sum - slack), sum + slack};
}

double LikelyInterval::lower(std::int64_t column, double radius) const {
  const double o = magnitude_interval(tile_.output(row_, column), radius).lower;
  const double most_o = magnitude_interval(tile_.output(row_, column), radius).upper;
  LikelyColumn<double> sums;
  sums.output = o;
  sums.weighted_squares = squares(column).lower;
  const double near = std::max(0.0, std::sqrt(sums.weighted_squares) - most_o * b_);
  sums.spread = least_sigma2_ * square(near);
  const double bound = likely_bound(context_.model, least_, sums, context_.recorded);
  return bound < std::numeric_limits<double>::infinity() ? bound * (1 - margin) : 0;
}

double LikelyInterval::upper(std::int64_t column, double radius) const {
  const PrecisionModel& model = context_.model;
  const double o = magnitude_interval(tile_.output(row_, column), radius).upper;
  const double largest = tile_.column_maximum[static_cast<std::size_t>(column)];
  const double n = most_.visible;
  LikelyColumn<double> sums;
  sums.output = o;
  sums.weighted_squares = squares(column).upper;
  sums.spread = most_sigma2_ * square(std::sqrt(sums.weighted_squares) + o * b_) +
                score_sum_ * square(largest + o);
  sums.squares = n * square(largest);
  sums.sum = n * largest;
  sums.value_deviation = largest;
  const double spread = squares(column).lower / n - square(o / n);
  sums.accumulation_coherence =
      coherence(2 * model.accumulation * o, std::sqrt(std::max(spread, 0.0)));
  return likely_bound(model, most_, sums, context_.recorded) * (1 + margin) +
         underflow_allowance(n, largest);
}

std::optional<LikelyAllowance> LikelyInterval::allowance() const {
  if (!usable_) return std::nullopt;
  const double deviation = square(context_.model.lambda * (1 - margin)) * (1 - margin);
  return LikelyAllowance{tile_.square_sums + row_ * tile_.stride,
                         tile_.squares_relative,
                         tile_.squares_absolute,
                         deviation * per_square_,
                         deviation * least_sigma2_,
                         square(b_)};
}

Uncertain LikelyInterval::explains(const Interval& error, std::int64_t column,
                                   double radius) const {
  if (!usable_) return Uncertain::unknown();
  if (error.upper <= lower(column, radius)) return Uncertain::yes();
  if (error.lower > upper(column, radius)) return Uncertain::no();
  return Uncertain::unknown();
}

}  // namespace gqa
