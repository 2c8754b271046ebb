#include "gqa/diagnose/row_allowance.hpp"

#include <algorithm>
#include <cmath>

#include "gqa/audit/ball_norms.hpp"

namespace gqa {
namespace {

// The likely bound of a search is this much wider than its formula.
constexpr double search_factor = 4;

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
  for (const std::size_t j : keys) {
    double sum = 0;
    const OperandRow key = b.key_row(place.batch, kv_head, static_cast<std::int64_t>(j));
    for (std::int64_t d = 0; d < b.key_size(); ++d) sum += fourth(key[d]);
    // A filled slot may hold anything; its score was not made from it.
    norms.key4_squared.push_back(std::isfinite(sum) ? std::sqrt(sum) : 0);
  }
  return norms;
}

class LikelyEstimate {
 public:
  LikelyEstimate(const Behaviour& behaviour, const RowPlace& place, const EvaluatedRow<double>& row,
                 const PrecisionModel& model, const FloatFormat& format)
      : behaviour_(behaviour), place_(place), row_(row), model_(model), format_(format) {
    const double scale = behaviour.scale.midpoint_double();
    const auto dk = static_cast<double>(behaviour.key_size());
    const Norms norms = norms_of(behaviour, place, row.visible);
    double largest = row.sink_score.value_or(-std::numeric_limits<double>::infinity());
    for (const double score : row.scores) largest = std::max(largest, score);
    const auto square = [](double x) { return x * x; };
    for (std::size_t k = 0; k < row.scores.size(); ++k) {
      const double raw = std::max(std::abs(row.raw_scores[k]), std::abs(row.scores[k]));
      const double away = row.scores[k] - largest;
      variance_.push_back(square(model.score) * (dk / 6 * square(scale) * norms.query4_squared *
                                                     norms.key4_squared[k] +
                                                 dk / 9 * square(raw)) +
                          square(model.stored_score) / 3 * square(raw) +
                          square(model.exponential) / 3 * (square(raw) + square(away) + 4));
      score_mean_ += row.weights[k] * row.scores[k];
    }
    for (std::size_t k = 0; k < row.scores.size(); ++k) {
      score_variance_ += row.weights[k] * square(row.scores[k] - score_mean_);
    }
  }

  std::vector<double> columns() const {
    const auto size = row_.output.size();
    std::vector<double> variance(size), squares(size), value_variance(size);
    const std::int64_t head = behaviour_.value_head[static_cast<std::size_t>(place_.head)];
    for (std::size_t k = 0; k < row_.visible.size(); ++k) {
      const OperandRow values =
          behaviour_.value_row(place_.batch, head, static_cast<std::int64_t>(row_.visible[k]));
      const double w = row_.weights[k];
      for (std::size_t c = 0; c < size; ++c) {
        const double v = values[static_cast<std::int64_t>(c)];
        const double away = (v - row_.output[c]) * (v - row_.output[c]);
        variance[c] += w * w * variance_[k] * away;
        squares[c] += w * w * v * v;
        value_variance[c] += std::abs(w) * away;
      }
    }
    for (std::size_t c = 0; c < size; ++c) {
      variance[c] = joined(variance[c], squares[c], value_variance[c], row_.output[c]);
    }
    return variance;
  }

 private:
  double joined(double variance, double squares, double value_variance, double output) const {
    const auto n = static_cast<double>(row_.visible.size());
    const double ua = model_.accumulation;
    const double ul = model_.denominator;
    variance += (model_.weight * model_.weight + ua * ua * (n / 6 + 1)) * squares +
                (ua * ua + ul * ul) * (n / 9 + 1) * output * output;
    const double common =
        (model_.score + model_.exponential) * std::sqrt(std::abs(score_variance_) * value_variance);
    const FormatRounding recorded = model_.output_rounding(format_);
    const double stored = recorded.roundoff * std::abs(output);
    return search_factor *
           (model_.lambda * std::sqrt(variance) + common + stored + recorded.underflow);
  }

  const Behaviour& behaviour_;
  const RowPlace& place_;
  const EvaluatedRow<double>& row_;
  const PrecisionModel& model_;
  const FloatFormat& format_;
  std::vector<double> variance_;
  double score_mean_ = 0;
  double score_variance_ = 0;
};

double stated_allowance(const Tolerance& tolerance, const FloatFormat& format, double output) {
  if (const auto* stated = std::get_if<AbsoluteRelativeTolerance>(&tolerance)) {
    return stated->absolute.get_d() + stated->relative.get_d() * std::abs(output);
  }
  return std::get<UlpTolerance>(tolerance).ulps.get_d() * ulp_of(format, output);
}

}  // namespace

std::vector<double> estimated_allowance(const Behaviour& behaviour, const RowPlace& place,
                                        const EvaluatedRow<double>& row, const Tolerance& tolerance,
                                        const FloatFormat& format) {
  std::vector<double> allowance(row.output.size());
  const auto* model = std::get_if<ModelTolerance>(&tolerance);
  if (model != nullptr) {
    allowance = LikelyEstimate(behaviour, place, row, *model->model, format).columns();
  }
  for (std::size_t c = 0; c < allowance.size(); ++c) {
    if (model == nullptr) allowance[c] = stated_allowance(tolerance, format, row.output[c]);
    // What binary64 evaluation itself may be off.
    allowance[c] += 1e-12 * std::abs(row.output[c]);
    if (!row.slack.empty()) allowance[c] += row.slack[c];
  }
  return allowance;
}

RowRounding rounding_of(const Behaviour& behaviour, const RowPlace& place,
                        const EvaluatedRow<Ball>& row) {
  RowRounding rounding;
  rounding.key_size = behaviour.key_size();
  rounding.visible = static_cast<std::int64_t>(row.visible.size());
  rounding.scale = behaviour.scale;
  rounding.softcap = Ball(behaviour.contract.softcap);
  rounding.plain = behaviour.contract.softcap == 0 && !behaviour.bias && !behaviour.slopes &&
                   behaviour.mask_use == MaskUse::hide;
  std::vector<Ball> vector;
  for (std::int64_t d = 0; d < behaviour.key_size(); ++d) {
    vector.emplace_back(behaviour.query.at(place.batch, place.head, place.row, d));
  }
  rounding.query = vector;
  rounding.query_norm2 = norm2(vector);
  rounding.query_norm4_squared = norm4_squared(vector);
  const std::int64_t kv_head = behaviour.key_head[static_cast<std::size_t>(place.head)];
  for (const std::size_t j : row.visible) {
    vector.clear();
    for (std::int64_t d = 0; d < behaviour.key_size(); ++d) {
      vector.emplace_back(behaviour.key_at(place.batch, kv_head, static_cast<std::int64_t>(j), d));
    }
    if (!std::ranges::all_of(vector, &Ball::is_finite)) std::ranges::fill(vector, Ball(0));
    rounding.keys.insert(rounding.keys.end(), vector.begin(), vector.end());
    rounding.key_norm2.push_back(norm2(vector));
    rounding.key_norm4_squared.push_back(norm4_squared(vector));
  }
  rounding.raw_scores = row.raw_scores;
  rounding.scores = row.scores;
  rounding.weights = row.weights;
  rounding.sink_score = row.sink_score;
  rounding.sink_weight = row.sink_weight;
  return rounding;
}

}  // namespace gqa
