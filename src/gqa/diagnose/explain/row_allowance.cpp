#include "gqa/diagnose/explain/row_allowance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "gqa/attention/seen_keys.hpp"
#include "gqa/audit/models/ball_norms.hpp"
#include "gqa/audit/models/equal_classes.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

// A search decides in binary64 with this margin; what it accepts is decided again by enclosures.
// Where the model itself is binary64, the search's own roundings are as large as the bound.
double search_factor(const PrecisionModel& model) {
  return model.accumulation < 0x1p-40 ? 4 : 1 + 1e-3;
}

double ulp_of(const FloatFormat& format, double x) {
  const double least = format.smallest_subnormal();
  if (!(std::abs(x) > 0) || !std::isfinite(x)) return least;
  return std::max(std::ldexp(1.0, std::ilogb(x) - format.precision + 1), least);
}

struct Norms {
  double query4_squared = 0;         // |q|_4^2
  std::vector<double> key4_squared;  // |k_j|_4^2 per visible key
};

Norms norms_of(const Behaviour& b, const RowPlace& place, const std::vector<std::size_t>& keys) {
  Norms norms;
  const std::int64_t kv_head = b.key_head[static_cast<std::size_t>(place.head)];
  const auto fourth = [](double x) { return x * x * x * x; };
  for (std::int64_t d = 0; d < b.key_size(); ++d) {
    norms.query4_squared += fourth(b.query.at(place.batch, place.head, place.row, d));
  }
  norms.query4_squared = std::sqrt(norms.query4_squared);
  const std::int64_t past = b.past();
  if (b.products) {
    OperandProducts::Numbers of_past;
    if (past > 0) {
      of_past = b.products->fourth_norms({*b.past_key, place.batch, kv_head}, b.key_size());
    }
    const auto of_new = b.products->fourth_norms({b.key, place.batch, kv_head}, b.key_size());
    for (const std::size_t j : keys) {
      const bool is_past = static_cast<std::int64_t>(j) < past;
      norms.key4_squared.push_back(is_past ? (*of_past)[j] : (*of_new)[j - extent(past)]);
    }
    return norms;
  }
  for (const std::size_t j : keys) {
    double sum = 0;
    const OperandRow key = b.key_row(place.batch, kv_head, static_cast<std::int64_t>(j));
    for (std::int64_t d = 0; d < b.key_size(); ++d) sum += fourth(key[d]);
    // A filled slot may hold anything; its score was not made from it.
    norms.key4_squared.push_back(std::isfinite(sum) ? std::sqrt(sum) : 0);
  }
  return norms;
}

// Neither softcap nor bias: raw scores are what is exponentiated.
bool has_plain_scores(const Behaviour& b) {
  return b.contract.softcap == 0 && !b.bias && !b.slopes && b.mask_use == MaskUse::hide;
}

double largest_score(const EvaluatedRow<double>& row) {
  double largest = row.sink_score.value_or(-std::numeric_limits<double>::infinity());
  for (const double score : row.scores) largest = std::max(largest, score);
  return largest;
}

std::vector<double> variances_of(const Behaviour& behaviour, const RowPlace& place,
                                 const EvaluatedRow<double>& row, const PrecisionModel& model) {
  const double scale = behaviour.score_scaled ? behaviour.scale.midpoint_double() : 1;
  const bool plain = has_plain_scores(behaviour);
  const Norms norms = norms_of(behaviour, place, row.visible);
  const double largest = largest_score(row);
  std::vector<double> variances;
  for (std::size_t k = 0; k < row.scores.size(); ++k) {
    variances.push_back(score_variance(
        model, behaviour.key_size(), plain,
        ScoreSquares<double>{square(scale) * norms.query4_squared * norms.key4_squared[k],
                             square(row.raw_scores[k]), square(row.scores[k]),
                             square(row.scores[k] - largest)}));
  }
  return variances;
}

}  // namespace

// The sums that likely_bound wants of one row and of each of its columns, in binary64. They are
// those that RoundingBound takes in balls; the bound itself is the same code.
class LikelyEstimate {
 public:
  LikelyEstimate(const Behaviour& behaviour, const RowPlace& place, const EvaluatedRow<double>& row,
                 const PrecisionModel& model, const FloatFormat& format)
      : behaviour_(behaviour),
        place_(place),
        row_(row),
        model_(model),
        recorded_(model.output_rounding(format)),
        factor_(factor_on_values(behaviour, place)) {
    largest_ = largest_score(row);
    variance_ = variances_of(behaviour, place, row, model);
    read_row();
  }

  std::vector<double> columns(std::span<const std::size_t> asked) const {
    std::vector<ColumnSums> sums(asked.size());
    const std::int64_t head = behaviour_.value_head[static_cast<std::size_t>(place_.head)];
    for (std::size_t k = 0; k < row_.visible.size(); ++k) {
      const OperandRow values =
          behaviour_.value_row(place_.batch, head, static_cast<std::int64_t>(row_.visible[k]));
      for (std::size_t c = 0; c < sums.size(); ++c) {
        const double v =
            row_.reads_zero(k) ? 0 : factor_ * values[static_cast<std::int64_t>(asked[c])];
        const double w = row_.weights[k];
        const double away = square(v - row_.output[asked[c]]);
        sums[c].spread += square(w) * variance_[k] * away;
        sums[c].weighted_squares += square(w * v);
        sums[c].squares += v * v;
        sums[c].sum += v;
        sums[c].weighted_sum += w * v;
        sums[c].value_squares += std::abs(w) * v * v;
        sums[c].weak_sum += weak_[k] * v;
        sums[c].weak_scores += weak_[k] * (row_.scores[k] - weak_mean_) * v;
        sums[c].underflown +=
            lost_part(std::abs(w), likely_row_.weight_underflow, gone_from_format) * std::abs(v);
      }
    }
    add_lost(sums, asked);
    add_equal(sums, asked);
    std::vector<double> bounds;
    for (std::size_t c = 0; c < sums.size(); ++c) {
      bounds.push_back(search_factor(model_) * bound(sums[c], row_.output[asked[c]]));
    }
    return bounds;
  }

 private:
  struct ColumnSums {
    double spread = 0;            // sum w^2 sigma^2 (v - o)^2
    double weighted_squares = 0;  // sum w^2 v^2
    double squares = 0;           // sum v^2
    double sum = 0;               // sum v
    double weighted_sum = 0;      // sum w v
    double value_squares = 0;     // sum w v^2
    double weak_sum = 0;          // sum r w v
    double weak_scores = 0;       // sum r w (s - mean) v
    double underflown = 0;        // sum of what their format loses of weights, times |v|
    double lost = 0;              // sum of what the running sum loses of w |v|
    double equal = 0;             // what keys with equal scores add to the variance
  };

  // What the unit of a column's running sum is shows only once its squares are summed.
  void add_lost(std::vector<ColumnSums>& sums, std::span<const std::size_t> asked) const {
    const std::int64_t head = behaviour_.value_head[static_cast<std::size_t>(place_.head)];
    for (std::size_t k = 0; k < row_.visible.size(); ++k) {
      if (row_.reads_zero(k)) continue;
      const OperandRow values =
          behaviour_.value_row(place_.batch, head, static_cast<std::int64_t>(row_.visible[k]));
      for (std::size_t c = 0; c < sums.size(); ++c) {
        const double term = row_.weights[k] * factor_ * values[static_cast<std::int64_t>(asked[c])];
        const double unit = model_.accumulation *
                            (std::abs(row_.output[asked[c]]) + std::sqrt(sums[c].weighted_squares));
        sums[c].lost += lost_part(std::abs(term), unit, gone_from_sum);
      }
    }
  }

  // Of equal scores alone: that equal keys may have others, and values be rounded, is for the
  // enclosures.
  void add_equal(std::vector<ColumnSums>& sums, std::span<const std::size_t> asked) const {
    const std::int64_t head = behaviour_.value_head[static_cast<std::size_t>(place_.head)];
    for (const EqualClass& members : classes_of(labels_of_scores())) {
      std::vector<double> away(sums.size()), weighted(sums.size());
      double variance = 0;
      for (const std::size_t k : members) {
        const OperandRow values =
            behaviour_.value_row(place_.batch, head, static_cast<std::int64_t>(row_.visible[k]));
        variance = std::max(variance, variance_[k]);
        for (std::size_t c = 0; c < sums.size(); ++c) {
          const double v =
              row_.reads_zero(k) ? 0 : factor_ * values[static_cast<std::int64_t>(asked[c])];
          away[c] += row_.weights[k] * (v - row_.output[asked[c]]);
          weighted[c] += row_.weights[k] * v;
        }
      }
      for (std::size_t c = 0; c < sums.size(); ++c) {
        sums[c].equal += equal_scores_variance(model_, variance, away[c], weighted[c]);
      }
    }
  }

  std::vector<std::int64_t> labels_of_scores() const {
    std::vector<std::size_t> order(row_.scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [this](std::size_t k) { return row_.scores[k]; });
    return labels_of_runs(order, [this](std::size_t a, std::size_t b) {
      return row_.scores[b] - row_.scores[a] <= 1e-13 * (1 + std::abs(row_.scores[b]));
    });
  }

  // The keys that do not dominate, as RoundingBound::bound_weak_keys.
  void read_weak_keys() {
    double total = 0, largest = 0, variance = 0;
    for (std::size_t k = 0; k < row_.scores.size(); ++k) {
      const double share = weak_share(std::abs(row_.weights[k]), likely_row_.visible);
      weak_.push_back(share * row_.weights[k]);
      total += weak_.back();
      weak_mean_ += weak_.back() * row_.scores[k];
      largest = std::max(largest, share * std::abs(row_.scores[k]));
    }
    weak_mean_ = total > 0 ? weak_mean_ / total : 0;
    for (std::size_t k = 0; k < row_.scores.size(); ++k) {
      variance += weak_[k] * square(row_.scores[k] - weak_mean_);
    }
    const double deviation = total > 0 ? std::sqrt(std::max(variance / total, 0.0)) : 0;
    likely_row_.weak_coherence = coherence(model_.weight, deviation);
    if (model_.stored_score > 0) {
      likely_row_.stored_score_coherence = coherence(2 * model_.stored_score * largest, deviation);
    }
  }

  static double deviation_of(double sum, double squares, double n) {
    return std::sqrt(std::max(squares / n - square(sum / n), 0.0));
  }

  void read_row() {
    likely_row_.visible = static_cast<double>(row_.visible.size());
    likely_row_.key_size = static_cast<double>(behaviour_.key_size());
    double denominator = row_.sink_score ? std::exp(*row_.sink_score - largest_) : 0;
    for (std::size_t k = 0; k < row_.scores.size(); ++k) {
      denominator += std::exp(row_.scores[k] - largest_);
      likely_row_.lost_weights +=
          lost_part(std::abs(row_.weights[k]), model_.denominator, gone_from_sum);
    }
    likely_row_.weight_underflow = row_weight_underflow(model_, denominator);
    likely_row_.equal_weights = squared_sizes(classes_of(labels_of_scores()));
    read_weak_keys();
    double total = 0, squares = 0, mean = 0, score_squares = 0;
    for (std::size_t k = 0; k < row_.scores.size(); ++k) {
      const double from_top = row_.scores[k] - largest_;
      total += row_.weights[k];
      squares += square(row_.weights[k]);
      mean += row_.weights[k] * from_top;
      score_squares += row_.weights[k] * square(from_top);
    }
    const double key_variance = score_squares / total - square(mean / total);
    likely_row_.weight_coherence = coherence(model_.weight, std::sqrt(std::max(key_variance, 0.0)));
    likely_row_.denominator_coherence =
        coherence(2 * model_.denominator, deviation_of(total, squares, likely_row_.visible));
    if (row_.sink_weight) {
      const double from_top = *row_.sink_score - largest_;
      mean += *row_.sink_weight * from_top;
      score_squares += *row_.sink_weight * square(from_top);
      likely_row_.sink_variance =
          sink_score_variance(model_, *row_.sink_weight, *row_.sink_score, from_top);
    }
    likely_row_.score_deviation = std::sqrt(std::max(score_squares - square(mean), 0.0));
  }

  double bound(const ColumnSums& sums, double output) const {
    LikelyColumn<double> column;
    column.output = std::abs(output);
    column.spread = sums.spread;
    column.weighted_squares = sums.weighted_squares;
    column.squares = sums.squares;
    column.sum = std::abs(sums.sum);
    column.value_deviation =
        std::sqrt(std::max(sums.value_squares - square(sums.weighted_sum), 0.0));
    column.accumulation_coherence =
        coherence(2 * model_.accumulation * column.output,
                  deviation_of(sums.weighted_sum, sums.weighted_squares, likely_row_.visible));
    column.value_coherence = coherence(2 * model_.value * column.output, column.value_deviation);
    column.weak_output = std::abs(sums.weak_sum);
    column.score_covariance = std::abs(sums.weak_scores);
    column.lost_values = sums.lost;
    column.underflown_values = sums.underflown;
    column.equal_classes = sums.equal;
    // As if the query's coordinates met the values independently, with room: the sum itself is for
    // the enclosures.
    if (model_.operand > 0) {
      column.query_covariance = 6 * sums.spread / square(model_.operand);
    }
    return likely_bound(model_, likely_row_, column, recorded_);
  }

  const Behaviour& behaviour_;
  const RowPlace& place_;
  const EvaluatedRow<double>& row_;
  const PrecisionModel& model_;
  FormatRounding recorded_;
  double factor_;
  double largest_ = 0;            // of the scores, the sink's among them
  std::vector<double> variance_;  // sigma_j^2 per visible key
  std::vector<double> weak_;      // r_j w_j
  double weak_mean_ = 0;          // of the scores under those
  LikelyRow<double> likely_row_;
};

double stated_allowance(const Tolerance& tolerance, const FloatFormat& format, double output) {
  if (const auto* stated = std::get_if<AbsoluteRelativeTolerance>(&tolerance)) {
    return stated->absolute.get_d() + stated->relative.get_d() * std::abs(output);
  }
  return std::get<UlpTolerance>(tolerance).ulps.get_d() * ulp_of(format, output);
}

std::vector<double> score_variances(const Behaviour& behaviour, const RowPlace& place,
                                    const EvaluatedRow<double>& row, const Tolerance& tolerance) {
  const auto* model = std::get_if<ModelTolerance>(&tolerance);
  if (model == nullptr) return std::vector<double>(row.scores.size(), 0);
  return variances_of(behaviour, place, row, *model->model);
}

double factor_on_values(const Behaviour& behaviour, const RowPlace& place) {
  double factor = behaviour.output_factor ? behaviour.output_factor->midpoint_double() : 1;
  if (!behaviour.head_factors.empty()) {
    factor *= behaviour.head_factors[static_cast<std::size_t>(
        place.batch * behaviour.query_heads() + place.head)];
  }
  return factor;
}

AllowanceEstimate::AllowanceEstimate(const Behaviour& behaviour, const RowPlace& place,
                                     const EvaluatedRow<double>& row, const Tolerance& tolerance,
                                     const FloatFormat& format)
    : row_(row), tolerance_(tolerance), format_(format) {
  const auto* model = std::get_if<ModelTolerance>(&tolerance);
  // Where nothing was summed, nothing but the output's own format may have rounded.
  if (model != nullptr && !row.visible.empty()) {
    likely_ = std::make_unique<LikelyEstimate>(behaviour, place, row, *model->model, format);
  }
}

AllowanceEstimate::~AllowanceEstimate() = default;

std::vector<double> AllowanceEstimate::of(std::span<const std::size_t> columns) const {
  std::vector<double> allowance(columns.size());
  if (likely_) allowance = likely_->columns(columns);
  const bool is_stated = !std::holds_alternative<ModelTolerance>(tolerance_);
  for (std::size_t n = 0; n < columns.size(); ++n) {
    const std::size_t c = columns[n];
    if (is_stated) allowance[n] = stated_allowance(tolerance_, format_, row_.output[c]);
    // What binary64 evaluation itself may be off.
    allowance[n] += 1e-12 * std::abs(row_.output[c]);
    if (!row_.slack.empty()) allowance[n] += row_.slack[c];
  }
  return allowance;
}

std::vector<double> estimated_allowance(const Behaviour& behaviour, const RowPlace& place,
                                        const EvaluatedRow<double>& row, const Tolerance& tolerance,
                                        const FloatFormat& format) {
  std::vector<std::size_t> all(row.output.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return AllowanceEstimate(behaviour, place, row, tolerance, format).of(all);
}

RowRounding rounding_of(const Behaviour& behaviour, const RowPlace& place,
                        const EvaluatedRow<Ball>& row) {
  RowRounding rounding;
  rounding.key_size = behaviour.key_size();
  rounding.visible = static_cast<std::int64_t>(row.visible.size());
  rounding.scale = behaviour.score_scaled ? behaviour.scale : Ball(1);
  rounding.softcap = Ball(behaviour.contract.softcap);
  rounding.plain = has_plain_scores(behaviour);
  std::vector<Ball> vector;
  for (std::int64_t d = 0; d < behaviour.key_size(); ++d) {
    vector.emplace_back(behaviour.query.at(place.batch, place.head, place.row, d));
  }
  rounding.query = vector;
  rounding.query_norm2 = norm2(vector);
  rounding.query_norm4_squared = norm4_squared(vector);
  const std::int64_t kv_head = behaviour.key_head[static_cast<std::size_t>(place.head)];
  EqualRows equal(behaviour.key_size());
  std::vector<std::int64_t> kinds;
  std::vector<double> key(extent(behaviour.key_size()));
  for (const std::size_t j : row.visible) {
    for (std::int64_t d = 0; d < behaviour.key_size(); ++d) {
      key[extent(d)] = behaviour.key_at(place.batch, kv_head, static_cast<std::int64_t>(j), d);
    }
    equal.add(key.data());
    kinds.push_back(equal.kind(key.data()));
    vector.assign(key.begin(), key.end());
    if (!std::ranges::all_of(vector, &Ball::is_finite)) std::ranges::fill(vector, Ball(0));
    rounding.keys.insert(rounding.keys.end(), vector.begin(), vector.end());
    rounding.key_norm2.push_back(norm2(vector));
    rounding.key_norm4_squared.push_back(norm4_squared(vector));
  }
  rounding.equal = equal_classes(labels_of_enclosed(row.scores), kinds);
  rounding.raw_scores = row.raw_scores;
  rounding.scores = row.scores;
  rounding.weights = row.weights;
  rounding.sink_score = row.sink_score;
  rounding.sink_weight = row.sink_weight;
  return rounding;
}

}  // namespace gqa
