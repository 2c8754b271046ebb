#include "gqa/audit/filter/rounding_rows.hpp"

#include <algorithm>
#include <cmath>

#include "gqa/audit/filter/blas.hpp"
#include "gqa/audit/filter/filter_bias.hpp"
#include "gqa/audit/filter/vector_exp.hpp"
#include "gqa/audit/filter/vector_norms.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

FilterOptions options_for_rows() {
  FilterOptions options;
  options.model_terms = true;
  return options;
}

}  // namespace

RoundingRows::RoundingRows(const AttentionProblem& problem, const LikelyContext& context)
    : problem_(problem),
      context_(context),
      constants_(problem),
      options_(options_for_rows()),
      shape_(problem.dimensions, options_, most_rows),
      memory_(shape_, false),
      key_norm4_squared_(shape_.keys),
      key_norm2_(shape_.keys),
      square_values_(shape_.keys * shape_.value_stride),
      magnitudes_(square_values_.size()),
      factors_(factors * most_rows * shape_.keys) {}

void RoundingRows::read(const FilterTile& tile, std::span<const std::size_t> rows) {
  tile_ = &tile;
  rows_.clear();
  rows_.resize(rows.size());
  value_sums_.assign(factors * most_rows * shape_.value_stride, 0.0);
  square_sums_ = value_sums_;
  magnitude_sums_ = value_sums_;
  norms_.column_maximum.assign(shape_.value_stride, 0.0);
  lost_values_.assign(most_rows * shape_.value_stride, 0.0);
  query_covariances_ = lost_values_;
  keys_ = {problem_.dimensions.keys, 0};
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const FilterRow& source = tile.rows[rows[r]];
    rows_[r].source = &source;
    rows_[r].sink = problem_.sink_of(source.head);
    const double underflow =
        row_weight_underflow(context_.model, std::exp(source.lse - source.maximum));
    rows_[r].least.weight_underflow = rows_[r].most.weight_underflow = underflow;
    double* query = memory_.query.data() + r * shape_.key_stride;
    problem_.query.read_rows(tile.batch, source.head, source.row, source.row + 1, query,
                             shape_.key_stride);
    rows_[r].query_norm2 = std::sqrt(square_sum(query, shape_.key_stride));
    for (std::size_t t = 0; t < shape_.key_stride; ++t) query[t] *= constants_.scale;
    const KeyRange range = problem_.visibility.range(tile.batch, source.row);
    keys_.begin = std::min(keys_.begin, std::max<std::int64_t>(range.begin, 0));
    keys_.end = std::max(keys_.end, range.end);
  }
  const OperandReader reader(problem_, options_, shape_, tile.batch, tile.kv_head);
  const auto block = static_cast<std::int64_t>(shape_.keys);
  for (std::int64_t begin = keys_.begin; begin < keys_.end; begin += block) {
    add_block(reader, begin, std::min(keys_.end, begin + block));
  }
  for (Row& row : rows_) finish_row(row);
}

void RoundingRows::score_block(const OperandReader& reader, std::int64_t begin, std::int64_t end) {
  // Rows that see what is not finite are open; for the others it is zero, and has no weight.
  reader.read(begin, end, memory_, norms_);
  multiply_transposed(rows_.size(), extent(end - begin), extent(constants_.key_size),
                      {memory_.query.data(), shape_.key_stride},
                      {memory_.key.data(), shape_.key_stride},
                      {memory_.scores.data(), shape_.keys});
}

void RoundingRows::measure_keys(std::size_t keys) {
  for (std::size_t j = 0; j < keys; ++j) {
    const double* key = memory_.key.data() + j * shape_.key_stride;
    key_norm4_squared_[j] = std::sqrt(fourth_power_sum(key, shape_.key_stride));
    key_norm2_[j] = std::sqrt(square_sum(key, shape_.key_stride));
  }
}

void RoundingRows::add_block(const OperandReader& reader, std::int64_t begin, std::int64_t end) {
  score_block(reader, begin, end);
  const auto keys = extent(end - begin);
  measure_keys(keys);
  for (std::size_t r = 0; r < rows_.size(); ++r) weigh_row(r, begin, end);
  add_products(keys);
}

std::vector<double> RoundingRows::score_row(const FilterRow& source, std::size_t r, KeyRange keys,
                                            std::int64_t begin) {
  const double* raw = memory_.scores.data() + r * shape_.keys;
  std::vector<double> scores(raw, raw + shape_.keys);
  if (constants_.softcap > 0) softcap_row(scores.data(), scores.size(), constants_.softcap);
  if (needs_bias(problem_)) {
    fill_bias(problem_, {tile_->batch, source.head, source.row}, keys.begin, keys.end,
              memory_.bias.data());
    for (std::int64_t j = keys.begin; j < keys.end; ++j) {
      scores[extent(j - begin)] += memory_.bias[extent(j - keys.begin)];
    }
  }
  return scores;
}

void RoundingRows::weigh_row(std::size_t r, std::int64_t begin, std::int64_t end) {
  for (std::size_t f = 0; f < factors; ++f) {
    std::fill_n(factor_row(static_cast<Factor>(f), r), shape_.keys, 0.0);
  }
  const FilterRow& source = *rows_[r].source;
  const KeyRange range = problem_.visibility.range(tile_->batch, source.row);
  const KeyRange keys{std::max(range.begin, begin), std::min(range.end, end)};
  if (keys.empty()) return;
  const double* raw = memory_.scores.data() + r * shape_.keys;
  const std::vector<double> scores = score_row(source, r, keys, begin);
  if (context_.two_biases) {
    fill_bias_magnitudes(problem_, {tile_->batch, source.head, source.row}, keys.begin, keys.end,
                         memory_.bias.data());
  }
  for (std::int64_t j = keys.begin; j < keys.end; ++j) {
    const auto at = extent(j - begin);
    if (scores[at] == hidden_score) continue;
    add_key(r, at, raw[at], scores[at],
            context_.two_biases ? memory_.bias[extent(j - keys.begin)] : 0);
  }
}

// sigma_j^2 of a key of the block.
double RoundingRows::variance_of(const FilterRow& source, std::size_t j, double raw, double score,
                                 double bias) const {
  const double products = source.statistics.query_norm4_squared * key_norm4_squared_[j];
  return score_variance(context_.model, context_.key_size, context_.plain,
                        ScoreSquares<double>{products, square(raw), square(score),
                                             square(score - source.maximum), square(bias)});
}

void RoundingRows::add_key(std::size_t r, std::size_t j, double raw, double score, double bias) {
  Row& row = rows_[r];
  const FilterRow& source = *row.source;
  const PrecisionModel& model = context_.model;
  const double weight = std::exp(score - source.lse);
  const double variance = variance_of(source, j, raw, score, bias);
  const double distance = score - source.statistics.score_mean;
  const auto visible = static_cast<double>(source.visible);
  const double weak_weight = weight * weak_share(weight, visible);
  factor_row(ones, r)[j] = 1;
  factor_row(weights, r)[j] = weight;
  factor_row(square_weights, r)[j] = square(weight);
  factor_row(variances, r)[j] = square(weight) * variance;
  factor_row(weak, r)[j] = weak_weight;
  factor_row(weak_scores, r)[j] = weak_weight * distance;
  factor_row(underflown, r)[j] = lost_part(weight, row.most.weight_underflow, gone_from_format);
  row.weight += weight;
  row.square_weight += square(weight);
  row.first_moment += weight * distance;
  row.second_moment += weight * square(distance);
  row.variance_weight += square(weight) * variance;
  row.weak_weight += weak_weight;
  row.weak_first += weak_weight * distance;
  row.weak_second += weak_weight * square(distance);
  row.weak_score = std::max(row.weak_score, weak_share(weight, visible) * std::abs(score));
  if (weak_weight > 0) row.weak_magnitude += weight * std::abs(distance);
  row.lost_weights += lost_part(weight, model.denominator, gone_from_sum);
  row.key_norm2 = std::max(row.key_norm2, key_norm2_[j]);
  row.raw = std::max(row.raw, std::abs(raw));
  row.score = std::max(row.score, std::abs(score));
  row.bias = std::max(row.bias, bias);
  row.distance = std::max(row.distance, source.maximum - score);
}

void RoundingRows::add_products(std::size_t keys) {
  for (std::size_t e = 0; e < keys * shape_.value_stride; ++e) {
    square_values_[e] = square(memory_.value[e]);
    magnitudes_[e] = std::abs(memory_.value[e]);
  }
  for (const Factor f : {variances, weak}) add_product(f, keys, memory_.value, value_sums_);
  if (context_.model.stored_score > 0) add_product(weak_scores, keys, memory_.value, value_sums_);
  for (const Factor f : {weights, square_weights, variances}) {
    add_product(f, keys, square_values_, square_sums_);
  }
  add_product(weights, keys, magnitudes_, magnitude_sums_);
  if (!underflow_counts()) return;
  add_product(ones, keys, memory_.value, value_sums_);
  add_product(ones, keys, square_values_, square_sums_);
  add_product(underflown, keys, magnitudes_, magnitude_sums_);
}

void RoundingRows::add_product(Factor f, std::size_t keys, const std::vector<double>& values,
                               std::vector<double>& to) {
  const auto columns = extent(problem_.dimensions.value_size);
  multiply(rows_.size(), columns, keys, {factor_row(f, 0), shape_.keys},
           {values.data(), shape_.value_stride}, {memory_.products.data(), shape_.value_stride});
  double* sums = to.data() + f * most_rows * shape_.value_stride;
  for (std::size_t e = 0; e < rows_.size() * shape_.value_stride; ++e) {
    sums[e] += memory_.products[e];
  }
}

void RoundingRows::refine(std::span<const std::size_t> rows,
                          std::span<const std::vector<std::size_t>> columns) {
  if (rows.empty()) return;
  const OperandReader reader(problem_, options_, shape_, tile_->batch, tile_->kv_head);
  const auto block = static_cast<std::int64_t>(shape_.keys);
  const std::size_t per_row = shape_.key_stride * shape_.value_stride;
  covariances_.assign(rounds_operands() ? most_rows * per_row : 0, 0.0);
  mean_keys_.assign(most_rows * shape_.key_stride, 0.0);
  find_equal(rows, columns, reader);
  for (std::int64_t begin = keys_.begin; begin < keys_.end; begin += block) {
    const std::int64_t end = std::min(keys_.end, begin + block);
    score_block(reader, begin, end);
    measure_keys(extent(end - begin));
    for (const std::size_t k : rows) refine_row(k, begin, end);
  }
  for (const std::size_t k : rows) {
    if (rounds_operands()) join_covariance(k);
    rows_[k].refined = true;
  }
}

// Sums of squares over the query's coordinates; the query is scaled.
void RoundingRows::join_covariance(std::size_t k) {
  const double* query = memory_.query.data() + k * shape_.key_stride;
  double* sums = query_covariances_.data() + k * shape_.value_stride;
  for (std::size_t t = 0; t < shape_.key_stride; ++t) {
    const std::size_t at = k * shape_.key_stride + t;
    for (std::size_t c = 0; c < extent(tile_->columns); ++c) {
      const double covariance =
          covariances_[at * shape_.value_stride + c] - mean_keys_[at] * output(rows_[k], c);
      sums[c] += square(query[t] * covariance);
    }
  }
}

// What running sums lose of one row's terms.
void RoundingRows::refine_row(std::size_t k, std::int64_t begin, std::int64_t end) {
  const FilterRow& source = *rows_[k].source;
  const KeyRange range = problem_.visibility.range(tile_->batch, source.row);
  const KeyRange keys{std::max(range.begin, begin), std::min(range.end, end)};
  if (keys.empty()) return;
  std::vector<double> row_weights(shape_.keys, 0.0);
  const std::vector<double> scores = score_row(source, k, keys, begin);
  const std::size_t columns = extent(tile_->columns);
  std::vector<double> units(columns);
  for (std::size_t c = 0; c < columns; ++c) {
    const double squares = with_squares(square_weights, k * shape_.value_stride + c);
    units[c] = context_.model.accumulation * (std::abs(output(rows_[k], c)) + std::sqrt(squares));
  }
  EqualSums* equal = rows_[k].equal && rows_[k].equal->is_usable() ? &*rows_[k].equal : nullptr;
  const double* raw = memory_.scores.data() + k * shape_.keys;
  if (equal != nullptr && context_.two_biases) {
    fill_bias_magnitudes(problem_, {tile_->batch, source.head, source.row}, keys.begin, keys.end,
                         memory_.bias.data());
  }
  double* lost = lost_values_.data() + k * shape_.value_stride;
  for (std::int64_t j = keys.begin; j < keys.end; ++j) {
    const auto at = extent(j - begin);
    if (scores[at] == hidden_score) continue;
    row_weights[at] = std::exp(scores[at] - source.lse);
    const double* values = memory_.value.data() + at * shape_.value_stride;
    if (equal != nullptr) {
      const double bias = context_.two_biases ? memory_.bias[extent(j - keys.begin)] : 0;
      equal->add(extent(j - keys_.begin), row_weights[at],
                 variance_of(source, at, raw[at], scores[at], bias), values);
    }
    for (std::size_t c = 0; c < columns; ++c) {
      lost[c] += lost_part(row_weights[at] * std::abs(values[c]), units[c], gone_from_sum);
    }
  }
  if (rounds_operands()) add_covariance(k, row_weights, extent(end - begin));
}

// Adds K^T diag(w) V and K^T w of a block.
void RoundingRows::add_covariance(std::size_t k, std::span<const double> row_weights,
                                  std::size_t keys) {
  const std::size_t dk = shape_.key_stride;
  const std::size_t dv = shape_.value_stride;
  double* means = mean_keys_.data() + k * dk;
  weighted_values_.resize(shape_.keys * dv);
  for (std::size_t j = 0; j < keys; ++j) {
    const double* key = memory_.key.data() + j * dk;
    const double* value = memory_.value.data() + j * dv;
    for (std::size_t t = 0; t < dk; ++t) means[t] += key[t] * row_weights[j];
    for (std::size_t c = 0; c < dv; ++c) weighted_values_[j * dv + c] = value[c] * row_weights[j];
  }
  covariance_product_.resize(dk * dv);
  multiply_left_transposed(dk, extent(tile_->columns), keys, {memory_.key.data(), dk},
                           {weighted_values_.data(), dv}, {covariance_product_.data(), dv});
  double* sums = covariances_.data() + k * dk * dv;
  for (std::size_t e = 0; e < dk * dv; ++e) sums[e] += covariance_product_[e];
}

}  // namespace gqa
