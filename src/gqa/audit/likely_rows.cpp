#include "gqa/audit/likely_rows.hpp"

#include <algorithm>
#include <cmath>

#include "gqa/audit/blas.hpp"
#include "gqa/audit/filter_bias.hpp"
#include "gqa/audit/vector_exp.hpp"
#include "gqa/audit/vector_norms.hpp"

namespace gqa {
namespace {

constexpr double nothing = -std::numeric_limits<double>::infinity();

double square(double x) {
  return x * x;
}

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

FilterOptions options_for_rows() {
  FilterOptions options;
  options.model_terms = true;
  return options;
}

}  // namespace

LikelyRows::LikelyRows(const AttentionProblem& problem, const LikelyContext& context)
    : problem_(problem),
      context_(context),
      constants_(problem),
      options_(options_for_rows()),
      shape_(problem.dimensions, options_, most_rows),
      memory_(shape_, false),
      key_norms_(shape_.keys),
      square_values_(shape_.keys * shape_.value_stride),
      factors_(factors * most_rows * shape_.keys) {}

void LikelyRows::read(const FilterTile& tile, std::span<const std::size_t> rows) {
  tile_ = &tile;
  rows_.assign(rows.size(), Row());
  value_sums_.assign(factors * most_rows * shape_.value_stride, 0.0);
  square_sums_ = value_sums_;
  norms_.column_maximum.assign(shape_.value_stride, 0.0);
  KeyRange keys{problem_.dimensions.keys, 0};
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const FilterRow& source = tile.rows[rows[r]];
    rows_[r].source = &source;
    rows_[r].sink = problem_.sink_of(source.head);
    double* query = memory_.query.data() + r * shape_.key_stride;
    problem_.query.read_rows(tile.batch, source.head, source.row, source.row + 1, query,
                             shape_.key_stride);
    for (std::size_t t = 0; t < shape_.key_stride; ++t) query[t] *= constants_.scale;
    const KeyRange range = problem_.visibility.range(tile.batch, source.row);
    keys.begin = std::min(keys.begin, std::max<std::int64_t>(range.begin, 0));
    keys.end = std::max(keys.end, range.end);
  }
  const OperandReader reader(problem_, options_, shape_, tile.batch, tile.kv_head);
  const auto block = static_cast<std::int64_t>(shape_.keys);
  for (std::int64_t begin = keys.begin; begin < keys.end; begin += block) {
    add_block(reader, begin, std::min(keys.end, begin + block));
  }
  for (Row& row : rows_) finish_row(row);
}

void LikelyRows::add_block(const OperandReader& reader, std::int64_t begin, std::int64_t end) {
  // Rows that see what is not finite are open; for the others it is zero, and has no weight.
  reader.read(begin, end, memory_, norms_);
  const auto keys = static_cast<std::size_t>(end - begin);
  for (std::size_t j = 0; j < keys; ++j) {
    const double* key = memory_.key.data() + j * shape_.key_stride;
    key_norms_[j] = std::sqrt(fourth_power_sum(key, shape_.key_stride));
  }
  multiply_transposed(rows_.size(), keys, static_cast<std::size_t>(constants_.key_size),
                      {memory_.query.data(), shape_.key_stride},
                      {memory_.key.data(), shape_.key_stride},
                      {memory_.scores.data(), shape_.keys});
  for (std::size_t r = 0; r < rows_.size(); ++r) weigh_row(r, begin, end);
  add_products(keys);
}

void LikelyRows::weigh_row(std::size_t r, std::int64_t begin, std::int64_t end) {
  for (std::size_t f = 0; f < factors; ++f) {
    std::fill_n(factor_row(static_cast<Factor>(f), r), shape_.keys, 0.0);
  }
  const FilterRow& source = *rows_[r].source;
  const KeyRange range = problem_.visibility.range(tile_->batch, source.row);
  const KeyRange keys{std::max(range.begin, begin), std::min(range.end, end)};
  if (keys.empty()) return;
  const double* raw = memory_.scores.data() + r * shape_.keys;
  std::vector<double> scores(raw, raw + shape_.keys);
  if (constants_.softcap > 0) softcap_row(scores.data(), scores.size(), constants_.softcap);
  if (needs_bias(problem_)) {
    fill_bias(problem_, {tile_->batch, source.head, source.row}, keys.begin, keys.end,
              memory_.bias.data());
    for (std::int64_t j = keys.begin; j < keys.end; ++j) {
      scores[static_cast<std::size_t>(j - begin)] +=
          memory_.bias[static_cast<std::size_t>(j - keys.begin)];
    }
  }
  for (std::int64_t j = keys.begin; j < keys.end; ++j) {
    const auto at = static_cast<std::size_t>(j - begin);
    if (scores[at] != nothing) add_key(r, at, raw[at], scores[at]);
  }
}

void LikelyRows::add_key(std::size_t r, std::size_t j, double raw, double score) {
  Row& row = rows_[r];
  const FilterRow& source = *row.source;
  const double weight = std::exp(score - source.lse);
  const double products = source.statistics.query_norm4_squared * key_norms_[j];
  const double variance = score_variance(
      context_.model, context_.key_size, context_.plain,
      ScoreSquares<double>{products, square(raw), square(score), square(score - source.maximum)});
  const double distance = score - source.statistics.score_mean;
  factor_row(ones, r)[j] = 1;
  factor_row(weights, r)[j] = weight;
  factor_row(square_weights, r)[j] = square(weight);
  factor_row(variances, r)[j] = square(weight) * variance;
  row.weight += weight;
  row.square_weight += square(weight);
  row.first_moment += weight * distance;
  row.second_moment += weight * square(distance);
  row.variance_weight += square(weight) * variance;
}

void LikelyRows::add_products(std::size_t keys) {
  const auto columns = static_cast<std::size_t>(problem_.dimensions.value_size);
  for (std::size_t e = 0; e < keys * shape_.value_stride; ++e) {
    square_values_[e] = square(memory_.value[e]);
  }
  const auto add = [&](std::size_t f, const std::vector<double>& values, std::vector<double>& to) {
    multiply(rows_.size(), columns, keys, {factor_row(static_cast<Factor>(f), 0), shape_.keys},
             {values.data(), shape_.value_stride}, {memory_.products.data(), shape_.value_stride});
    double* sums = to.data() + f * most_rows * shape_.value_stride;
    for (std::size_t e = 0; e < rows_.size() * shape_.value_stride; ++e) {
      sums[e] += memory_.products[e];
    }
  };
  for (const Factor f : {ones, variances}) add(f, memory_.value, value_sums_);
  for (std::size_t f = 0; f < factors; ++f) add(f, square_values_, square_sums_);
}

void LikelyRows::finish_row(Row& row) const {
  const PrecisionModel& model = context_.model;
  const FilterRow& source = *row.source;
  const auto n = static_cast<double>(source.visible);
  const double radius = source.score_radius;
  const double amplified = 1 + (square(model.score) * static_cast<double>(context_.key_size) +
                                square(model.stored_score)) /
                                   square(model.exponential);
  const double weight_error = 2 * (radius + source.lse_radius + 0x1p-40);
  row.sum_error = (n + 64) * 0x1p-52;
  row.weight_error = weight_error + row.sum_error;
  row.square_error = 2 * weight_error + row.sum_error;
  row.variance_error = row.square_error + 4 * radius * amplified + 0x1p-46;
  // Beyond that the squares of errors would count.
  row.usable = row.variance_error <= 0x1p-12 && row.weight > 0;
  row.least.visible = row.most.visible = n;
  bound_deviations(row);
}

void LikelyRows::bound_deviations(Row& row) const {
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

LikelyColumn<double> LikelyRows::column_bound(const Row& row, std::size_t at, const Interval& o,
                                              double radius, bool upper) const {
  const auto end = [upper](const Interval& bounds) { return upper ? bounds.upper : bounds.lower; };
  const double n = row.least.visible;
  const double centre = (o.lower + o.upper) / 2;
  const double moved = 2 * o.upper * radius + square(radius);
  const double weighted = with_squares(square_weights, at);
  const double squares = with_squares(ones, at);
  LikelyColumn<double> sums;
  sums.output = end(o);
  sums.weighted_squares = end(around(weighted, 2 * row.square_error * weighted));
  sums.squares = end(around(squares, 2 * row.sum_error * squares));
  sums.sum =
      end(around(std::abs(with_values(ones, at)), 2 * row.sum_error * std::sqrt(n * squares)));
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
  sums.value_deviation =
      end(root(around(second - square(centre), 4 * row.weight_error * second + moved), 0));
  const Interval terms = root(around(weighted / n - square(centre / n),
                                     4 * row.square_error * weighted / n + moved / square(n)),
                              0);
  const double spacing = 2 * context_.model.accumulation;
  sums.accumulation_coherence = end(coherence_of(spacing * o.lower, spacing * o.upper, terms));
  return sums;
}

Interval LikelyRows::operator()(std::size_t k, std::int64_t column, double radius) const {
  const Row& row = rows_[k];
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (!row.usable) return {0, infinity};
  const auto c = static_cast<std::size_t>(column);
  const std::size_t at = k * shape_.value_stride + c;
  const Interval o = magnitude_interval(output(row, at % shape_.value_stride), radius);
  const double lower = likely_bound(context_.model, row.least,
                                    column_bound(row, at, o, radius, false), context_.recorded);
  const double upper = likely_bound(context_.model, row.most,
                                    column_bound(row, at, o, radius, true), context_.recorded);
  const double tiny = underflow_allowance(row.least.visible, tile_->column_maximum[c]);
  const double least = lower * (1 - 0x1p-40) - tiny;
  return {least > 0 && least < infinity ? least : 0, upper * (1 + 0x1p-40) + tiny};
}

}  // namespace gqa
