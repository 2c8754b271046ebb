#include "gqa/audit/filter/likely_interval.hpp"

#include <algorithm>

#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

constexpr double margin = 1e-3;

}  // namespace

LikelyInterval::LikelyInterval(const LikelyContext& context, const FilterTile& tile,
                               std::size_t row, std::optional<double> sink,
                               const EqualHistory* equal)
    : context_(context),
      tile_(tile),
      row_(row),
      equal_(equal),
      // Where a row's weights are worse than that, so are its sums (squares_relative_error).
      usable_(tile.rows[row].epsilon <= 1e-7) {
  const FilterRow& source = tile.rows[row];
  const double n = static_cast<double>(source.visible);
  least_.visible = most_.visible = n;
  least_.key_size = most_.key_size = static_cast<double>(context.key_size);
  const double underflow =
      row_weight_underflow(context.model, std::exp(source.lse - source.maximum));
  least_.weight_underflow = underflow * (1 - margin);
  most_.weight_underflow = underflow * (1 + margin);
  bound_weights();
  b_ = std::sqrt(source.statistics.square_weight);
  most_.score_deviation = std::sqrt(source.statistics.score_variance);
  if (sink) bound_sink(*sink);
  bound_scores();
  bound_worst();
  per_square_ =
      likely_variance(context.model, least_, LikelyColumn<double>{.weighted_squares = 1}) -
      likely_variance(context.model, least_, LikelyColumn<double>{});
  bound_equal_sizes();
  most_.weight_coherence = most_.weak_coherence = most_.stored_score_coherence = 1;
  const double spread = square(b_) / n * (1 - margin) - square(key_weight_ / n);
  most_.denominator_coherence =
      coherence(2 * context.model.denominator, std::sqrt(std::max(spread, 0.0)));
}

// The squares of the sizes of classes sum to at most the largest size times n.
void LikelyInterval::bound_equal_sizes() {
  const std::int64_t most = tile_.rows[row_].most_equal_scores;
  if (most == 1) return;
  const double n = most_.visible;
  const double equal = most > 0 ? static_cast<double>(most) : n;
  most_.equal_weights = equal * n;
}

// What the sum of the weights loses of them, with the smallest one.
void LikelyInterval::bound_weights() {
  const FilterRow& source = tile_.rows[row_];
  // Both are then known far better than the margin.
  constexpr double accurate = 1e-5;
  if (source.score_radius <= accurate && source.lse_radius <= accurate) {
    least_weight_ = std::exp(source.statistics.score_minimum - source.lse) * (1 - margin);
  }
  const double unit = context_.model.denominator;
  const bool loses = least_weight_ < gone_from_sum * unit * (1 + margin);
  most_.lost_weights = loses ? std::min(1.0, most_.visible * unit) : 0;
}

// Keys of which a running sum may lose something: w |v| < gone_from_sum units.
double LikelyInterval::keys_that_lose(std::int64_t column, double unit,
                                      const SmallValues* values) const {
  if (values == nullptr || !(least_weight_ > 0)) return most_.visible;
  const double below = gone_from_sum * unit / least_weight_ * (1 + margin);
  return std::min(most_.visible, static_cast<double>(values->count_below(column, below)));
}

// (1 + u)^m - 1 >= m u. A computed score is off by at least what its own roundings can do.
void LikelyInterval::bound_worst() {
  const PrecisionModel& model = context_.model;
  const double n = least_.visible;
  // Some |s_j| is at least that of the mean.
  const double score = context_.plain ? std::abs(tile_.rows[row_].statistics.score_mean) : 0;
  const double exponents =
      4 * model.exponential * (n + 2) + 2 * (model.stored_score + model.operand) *
                                            std::max(0.0, score - tile_.rows[row_].score_radius);
  worst_per_magnitude_ =
      (exponents + model.weight + model.value + model.worst_accumulation() * (2 * n + 4)) *
      (1 - margin);
  worst_per_output_ =
      (exponents + model.weight + model.denominator * (2 * n + 4) + context_.recorded.roundoff) *
      (1 - margin);
}

void LikelyInterval::bound_scores() {
  const RowStatistics& s = tile_.rows[row_].statistics;
  const auto variance = [this](const ScoreSquares<double>& squares) {
    return score_variance(context_.model, context_.key_size, context_.plain, squares);
  };
  const double most_products = s.query_norm4_squared * tile_.key_norm4_squared_maximum;
  least_sigma2_ = variance({s.query_norm4_squared * tile_.key_norm4_squared_minimum, 0, 0, 0});
  most_sigma2_ = variance({most_products, 0, 0, 0});
  const double raw = static_cast<double>(context_.key_size) * most_products;
  // What terms in s and x add, of their means under some weights.
  const auto further = [&](double mean, double score_variance) {
    const double scores = square(mean) + score_variance;
    const double below_maximum = square(mean - tile_.rows[row_].maximum) + score_variance;
    const double sum = variance({0, context_.plain ? scores : raw, scores, below_maximum});
    // The difference may be small against what is subtracted.
    return std::max(0.0, sum - variance({0, 0, 0, 0})) + 0x1p-50 * sum;
  };
  score_sum_ = s.square_weight * further(s.square_score_mean, s.square_score_variance);
  mean_score_variance_ = further(s.score_mean, s.score_variance);
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
  const double worst =
      worst_per_magnitude_ * std::max(o, std::sqrt(squares(column).lower)) + worst_per_output_ * o;
  return std::min(likely_lower(column, radius), worst);
}

double LikelyInterval::likely_lower(std::int64_t column, double radius) const {
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

// Of what the sums of squares tell alone.
LikelyColumn<double> LikelyInterval::largest_sums(std::int64_t column, double radius) const {
  LikelyColumn<double> sums;
  sums.output = magnitude_interval(tile_.output(row_, column), radius).upper;
  sums.weighted_squares = squares(column).upper;
  return sums;
}

double LikelyInterval::lost_values(std::int64_t column, double radius,
                                   const SmallValues* values) const {
  const double unit =
      context_.model.accumulation * accumulated_magnitude(largest_sums(column, radius));
  return unit > 0 ? keys_that_lose(column, unit, values) * unit * (1 + margin) : 0;
}

// Of a class, |sum w (v - o)| <= (sum w) (A + |o|), and its square is at most (A + |o|)^2 times its
// share of the weights, which are at most one in all. With a bias, the scores of equal keys may
// differ.
double LikelyInterval::equal_classes(std::int64_t column, const LikelyColumn<double>& sums) const {
  const std::int64_t most = tile_.rows[row_].most_equal_scores;
  const double largest = tile_.column_maximum[static_cast<std::size_t>(column)];
  double variance = 0;
  if (most != 1 && context_.biased) return std::numeric_limits<double>::infinity();
  if (most != 1) {
    const auto equal = most > 0 ? static_cast<double>(most) : most_.visible;
    const double spread = (most_sigma2_ + mean_score_variance_) * square(largest + sums.output);
    variance = 2 * std::min(equal * sums.spread, spread) +
               square(context_.model.weight) / 3 *
                   std::min(equal * sums.weighted_squares, square(largest));
  }
  const std::int64_t equal_values =
      equal_ != nullptr ? equal_->most_equal_values[static_cast<std::size_t>(column)]
                        : tile_.rows[row_].visible;
  if (equal_values > 1) {
    variance +=
        square(context_.model.value) / 3 *
        std::min(static_cast<double>(equal_values) * sums.weighted_squares, square(largest));
  }
  return variance;
}

double LikelyInterval::upper(std::int64_t column, double radius, const SmallValues* values) const {
  const PrecisionModel& model = context_.model;
  const double largest = tile_.column_maximum[static_cast<std::size_t>(column)];
  const double n = most_.visible;
  if (context_.two_biases) return std::numeric_limits<double>::infinity();
  LikelyColumn<double> sums = largest_sums(column, radius);
  const double o = sums.output;
  sums.spread = most_sigma2_ * square(std::sqrt(sums.weighted_squares) + o * b_) +
                score_sum_ * square(largest + o);
  sums.equal_classes = equal_classes(column, sums);
  sums.squares = n * square(largest);
  sums.sum = n * largest;
  sums.value_deviation = largest;
  sums.value_coherence = 1;
  const double dominating = std::min(n / 8, square(b_ * n / 8) * (1 + margin));
  sums.weak_output = std::min(largest, o + std::sqrt(dominating * sums.weighted_squares));
  if (model.stored_score > 0) {
    const RowStatistics& s = tile_.rows[row_].statistics;
    sums.score_covariance = largest * std::sqrt(s.score_variance);
  }
  sums.lost_values = lost_values(column, radius, values);
  sums.underflown_values = n * most_.weight_underflow * largest;
  if (model.operand > 0) {
    sums.query_covariance = tile_.rows[row_].statistics.query_norm4_squared *
                            tile_.key_norm4_squared_maximum * square(largest);
  }
  const double spread = squares(column).lower / n - square(o / n);
  sums.accumulation_coherence =
      coherence(2 * model.accumulation * o, std::sqrt(std::max(spread, 0.0)));
  return likely_bound(model, most_, sums, context_.recorded) * (1 + margin) +
         underflow_allowance(n, largest);
}

std::optional<LikelyAllowance> LikelyInterval::sure_allowance() const {
  if (!usable_) return std::nullopt;
  const double deviation = square(context_.model.lambda * (1 - margin)) * (1 - margin);
  return LikelyAllowance{tile_.square_sums + row_ * tile_.stride,
                         tile_.squares_relative,
                         tile_.squares_absolute,
                         deviation * per_square_,
                         deviation * least_sigma2_,
                         square(b_),
                         context_.recorded.roundoff * (1 - margin),
                         worst_per_magnitude_,
                         worst_per_output_};
}

}  // namespace gqa
