#include "gqa/audit/rounding_rows.hpp"

#include <algorithm>
#include <cmath>

#include "gqa/audit/blas.hpp"
#include "gqa/audit/filter_bias.hpp"
#include "gqa/audit/vector_exp.hpp"
#include "gqa/audit/vector_norms.hpp"
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
  KeyRange keys{problem_.dimensions.keys, 0};
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const FilterRow& source = tile.rows[rows[r]];
    rows_[r].source = &source;
    rows_[r].sink = problem_.sink_of(source.head);
    double* query = memory_.query.data() + r * shape_.key_stride;
    problem_.query.read_rows(tile.batch, source.head, source.row, source.row + 1, query,
                             shape_.key_stride);
    rows_[r].query_norm2 = std::sqrt(square_sum(query, shape_.key_stride));
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

void RoundingRows::add_block(const OperandReader& reader, std::int64_t begin, std::int64_t end) {
  // Rows that see what is not finite are open; for the others it is zero, and has no weight.
  reader.read(begin, end, memory_, norms_);
  const auto keys = static_cast<std::size_t>(end - begin);
  for (std::size_t j = 0; j < keys; ++j) {
    const double* key = memory_.key.data() + j * shape_.key_stride;
    key_norm4_squared_[j] = std::sqrt(fourth_power_sum(key, shape_.key_stride));
    key_norm2_[j] = std::sqrt(square_sum(key, shape_.key_stride));
  }
  multiply_transposed(rows_.size(), keys, static_cast<std::size_t>(constants_.key_size),
                      {memory_.query.data(), shape_.key_stride},
                      {memory_.key.data(), shape_.key_stride},
                      {memory_.scores.data(), shape_.keys});
  for (std::size_t r = 0; r < rows_.size(); ++r) weigh_row(r, begin, end);
  add_products(keys);
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
    if (scores[at] != hidden_score) add_key(r, at, raw[at], scores[at]);
  }
}

void RoundingRows::add_key(std::size_t r, std::size_t j, double raw, double score) {
  Row& row = rows_[r];
  const FilterRow& source = *row.source;
  const double weight = std::exp(score - source.lse);
  const double products = source.statistics.query_norm4_squared * key_norm4_squared_[j];
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
  row.key_norm2 = std::max(row.key_norm2, key_norm2_[j]);
  row.raw = std::max(row.raw, std::abs(raw));
  row.score = std::max(row.score, std::abs(score));
  row.distance = std::max(row.distance, source.maximum - score);
}

void RoundingRows::add_products(std::size_t keys) {
  for (std::size_t e = 0; e < keys * shape_.value_stride; ++e) {
    square_values_[e] = square(memory_.value[e]);
    magnitudes_[e] = std::abs(memory_.value[e]);
  }
  for (const Factor f : {ones, variances}) add_product(f, keys, memory_.value, value_sums_);
  for (const Factor f : {ones, weights, square_weights, variances}) {
    add_product(f, keys, square_values_, square_sums_);
  }
  add_product(weights, keys, magnitudes_, magnitude_sums_);
}

void RoundingRows::add_product(Factor f, std::size_t keys, const std::vector<double>& values,
                               std::vector<double>& to) {
  const auto columns = static_cast<std::size_t>(problem_.dimensions.value_size);
  multiply(rows_.size(), columns, keys, {factor_row(f, 0), shape_.keys},
           {values.data(), shape_.value_stride}, {memory_.products.data(), shape_.value_stride});
  double* sums = to.data() + f * most_rows * shape_.value_stride;
  for (std::size_t e = 0; e < rows_.size() * shape_.value_stride; ++e) {
    sums[e] += memory_.products[e];
  }
}

}  // namespace gqa
