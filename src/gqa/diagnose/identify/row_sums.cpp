#include "gqa/diagnose/identify/row_sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gqa/num/arithmetic.hpp"

namespace gqa::identification {

RowSums::RowSums(const SearchRow& row, const ScoreRule& score, std::int64_t position,
                 bool free_sink)
    : free_sink_(free_sink) {
  const std::vector<std::size_t> columns = spread_columns(row.columns(), scanned_columns);
  width_ = columns.size();
  for (std::size_t c = 0; c < width_; ++c) {
    target_[c] = row.output[columns[c]];
    square_ += square(target_[c]);
  }
  const std::vector<double> scores = scores_of(score, row, position);
  double largest = row.sink.value_or(-std::numeric_limits<double>::infinity());
  for (const double one : scores) largest = std::max(largest, one);
  if (std::isfinite(largest)) {
    sink_ = row.sink ? std::exp(*row.sink - largest) : 0;
    if (score.sink) sink_ += *score.sink * std::exp(-largest);
  }
  weights_.assign(scores.size() + 1, 0.0);
  values_.assign((scores.size() + 1) * width_, 0.0);
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const double weight = std::isfinite(largest) ? std::exp(scores[j] - largest) : 0;
    weights_[j + 1] = weights_[j] + weight;
    const double* from = row.history->values.data() + j * row.columns();
    for (std::size_t c = 0; c < width_; ++c) {
      values_[(j + 1) * width_ + c] = values_[j * width_ + c] + weight * from[columns[c]];
    }
  }
}

double RowSums::misfit(const KeyRange& keys) const {
  if (keys.empty()) return 1;
  if (!(square_ > 0)) return 0;
  const auto begin = extent(keys.begin);
  const auto end = extent(keys.end);
  const double total = weights_[end] - weights_[begin] + sink_;
  if (!(total > 0)) return 1;
  const double* low = values_.data() + begin * width_;
  const double* high = values_.data() + end * width_;
  double products = 0, squares = 0;
  for (std::size_t c = 0; c < width_; ++c) {
    const double output = (high[c] - low[c]) / total;
    products += output * target_[c];
    squares += square(output);
  }
  // |t - f o|^2 = |t|^2 - 2 f o.t + f^2 |o|^2, least at f = o.t / |o|^2; a sink has f below 1.
  const double least = squares > 0 ? std::clamp(products / squares, 0.0, 1.0) : 0;
  const double factor = free_sink_ ? least : 1;
  const double share = (square_ - 2 * factor * products + square(factor) * squares) / square_;
  return share < 1 ? std::max(share, 0.0) : 1;
}

}  // namespace gqa::identification
