#include "gqa/audit/likely_interval.hpp"

#include <algorithm>

namespace gqa {
namespace {

double square(double x) {
  return x * x;
}

constexpr double margin = 1e-3;

}  // namespace

LikelyInterval::LikelyInterval(const PrecisionModel& model, std::int64_t key_size,
                               const FormatRounding& output, const FilterTile& tile,
                               std::size_t row, bool plain)
    : model_(model), output_(output), tile_(tile), row_(row), usable_(plain) {
  const FilterRow& source = tile.rows[row];
  const RowStatistics& s = source.statistics;
  const auto dk = static_cast<double>(key_size);
  n_ = static_cast<double>(source.visible);
  b_ = std::sqrt(s.square_weight);
  const double products = square(model.score) * dk / 6 * s.query_norm4_squared;
  const double constant = 4 * square(model.exponential) / 3;
  least_sigma2_ = products * tile.key_norm4_squared_minimum + constant;
  most_sigma2_ = products * tile.key_norm4_squared_maximum + constant;
  const double scores = square(s.square_score_mean) + s.square_score_variance;
  const double below_maximum =
      square(s.square_score_mean - source.maximum) + s.square_score_variance;
  score_sum_ =
      s.square_weight * ((square(model.score) * dk / 9 + square(model.stored_score) / 3) * scores +
                         square(model.exponential) / 3 * (scores + below_maximum));
  common_ = (model.score + model.exponential) * std::sqrt(std::max(0.0, s.score_variance));
}

Interval LikelyInterval::operator()(std::int64_t column, double radius) const {
  if (!usable_) return {0, std::numeric_limits<double>::infinity()};
  const Interval o = magnitude_interval(tile_.output(row_, column), radius);
  const double sum = tile_.squares(row_, column);
  const double slack = tile_.squares_relative * sum + tile_.squares_absolute;
  const Interval squares{std::max(0.0, sum - slack), sum + slack};
  const double largest = tile_.column_maximum[static_cast<std::size_t>(column)];
  const double per_weight = square(model_.weight) / 3 + square(model_.accumulation) * n_ / 6;
  const double per_output = (square(model_.accumulation) + square(model_.denominator)) * n_ / 9;
  const double near = std::max(0.0, std::sqrt(squares.lower) - o.upper * b_);
  const double far = std::sqrt(squares.upper) + o.upper * b_;
  const double least =
      least_sigma2_ * square(near) + per_weight * squares.lower + per_output * square(o.lower);
  const double most = most_sigma2_ * square(far) + score_sum_ * square(largest + o.upper) +
                      per_weight * squares.upper + per_output * square(o.upper);
  const double storage = square(model_.storage_underflow);
  const double inner = square(model_.inner_underflow);
  const double tiny =
      n_ * ((storage + inner) / 3 * square(largest) + 2 * inner / 3 * (1 + square(o.upper)));
  const double coherent = model_.weight * o.upper + model_.storage_underflow * n_ * largest +
                          n_ / 2 * (model_.accumulation + model_.denominator) * o.upper;
  return {(model_.lambda * std::sqrt(least) + output_.roundoff * o.lower) * (1 - margin),
          (model_.lambda * std::sqrt(most + tiny) + common_ * largest + coherent +
           output_.roundoff * o.upper + output_.underflow) *
              (1 + margin)};
}

}  // namespace gqa
