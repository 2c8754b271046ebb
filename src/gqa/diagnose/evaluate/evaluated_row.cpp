#include "gqa/diagnose/evaluate/evaluated_row.hpp"

#include <array>
#include <limits>
#include <numeric>

#include "gqa/diagnose/evaluate/row_scores.hpp"
#include "gqa/diagnose/evaluate/row_weights.hpp"

namespace gqa {
namespace {

using namespace evaluation;  // NOLINT: this file implements it

// To nearest, ties to even, in a format far narrower than binary64: scaling by powers of two is
// exact, and rint rounds so. Beyond the largest number: infinity.
double rounded_to(const FloatFormat& format, double x) {
  if (x == 0 || !std::isfinite(x)) return x;
  const int exponent = std::max(std::ilogb(x), format.minimum_exponent) - format.precision + 1;
  const double rounded = std::ldexp(std::rint(std::ldexp(x, -exponent)), exponent);
  const bool fits = std::abs(rounded) <= format.maximum();
  return fits ? rounded : std::copysign(std::numeric_limits<double>::infinity(), x);
}

template <class T>
class RowEvaluator {
 public:
  RowEvaluator(const Behaviour& behaviour, std::int64_t batch, std::int64_t head, std::int64_t row)
      : behaviour_(behaviour),
        batch_(batch),
        head_(head),
        row_(row),
        value_head_(behaviour.value_head[static_cast<std::size_t>(head)]),
        keys_(keys_of_row(behaviour, batch, head, row)) {
    const auto columns = static_cast<std::size_t>(behaviour.value_size());
    result_.output.assign(columns, T(0));
    result_.is_nan.assign(columns, 0);
  }

  EvaluatedRow<T> evaluate() {
    if (keys_.visible.empty()) {
      empty_row();
    } else {
      ordinary_row();
    }
    spoil_by_hidden();
    for (std::size_t c = static_cast<std::size_t>(behaviour_.written_columns);
         c < result_.output.size(); ++c) {
      result_.output[c] = T(0);
      result_.is_nan[c] = 0;
    }
    return std::move(result_);
  }

 private:
  std::optional<double> sink() const { return sink_logit(behaviour_.sink, head_); }

  double value(std::int64_t j, std::size_t c) const {
    if (j < keys_.zeros_end) return 0;
    return behaviour_.value_at(batch_, value_head_, j, static_cast<std::int64_t>(c));
  }

  void all_nan() { std::fill(result_.is_nan.begin(), result_.is_nan.end(), char{1}); }

  void mean_of(const std::vector<std::size_t>& keys) {
    if (keys.empty()) return all_nan();
    for (std::size_t c = 0; c < result_.output.size(); ++c) {
      T sum(0);
      for (const std::size_t j : keys) sum += T(value(static_cast<std::int64_t>(j), c));
      result_.output[c] = T(sum / T(static_cast<double>(keys.size())));
    }
    result_.visible = keys;
    result_.raw_scores.assign(keys.size(), T(0));
    result_.scores = result_.raw_scores;
    result_.weights.assign(keys.size(), T(T(1) / T(static_cast<double>(keys.size()))));
  }

  void empty_row() {
    if (sink()) {
      if (behaviour_.overflow.sink_tile > 0) all_nan();
      if (behaviour_.sink_has_value) {
        for (std::size_t c = 0; c < result_.output.size(); ++c) result_.output[c] = T(value(0, c));
      }
      return;
    }
    switch (behaviour_.empty) {
      case EmptyOutcome::zero:
        break;
      case EmptyOutcome::nan:
        all_nan();
        break;
      case EmptyOutcome::anything:
        result_.anything = true;
        break;
      case EmptyOutcome::mean_of_all: {
        std::vector<std::size_t> all(static_cast<std::size_t>(keys_.slots));
        std::iota(all.begin(), all.end(), static_cast<std::size_t>(keys_.begin));
        mean_of(all);
        break;
      }
      case EmptyOutcome::mean_of_once_hidden:
        mean_of(keys_.once_hidden);
        break;
    }
  }

  void ordinary_row() {
    const Scores<T> scores = ScoreReader<T>(behaviour_, batch_, head_, row_).of(keys_);
    WeightInput<T> input{keys_.visible, static_cast<std::size_t>(keys_.begin), scores.final,
                         scores.dropped, std::nullopt};
    if (const auto logit = sink()) input.sink = T(*logit);
    Weights<T> weights = weights_of(input);
    if (spoilt_by_arithmetic(scores, input)) all_nan();
    sum_values(weights);
    result_.visible = keys_.visible;
    result_.zeros_end = keys_.zeros_end;
    result_.raw_scores = scores.raw;
    result_.scores = scores.final;
    result_.weights = std::move(weights.of_keys);
    result_.sink_score = input.sink;
    result_.sink_weight = std::move(weights.sink);
  }

  Weights<T> weights_of(const WeightInput<T>& input) const {
    switch (behaviour_.softmax) {
      case SoftmaxForm::whole:
        break;
      case SoftmaxForm::not_rescaled:
        return unrescaled_weights(input, behaviour_.block, false);
      case SoftmaxForm::rescale_inverted:
        return unrescaled_weights(input, behaviour_.block, true);
      case SoftmaxForm::accumulator_not_rescaled:
        return unrescaled_numerators(input, behaviour_.block);
      case SoftmaxForm::over_queries:
        return weights_over_queries(input);
      case SoftmaxForm::base_mixed_merge:
        return merged_weights(input, behaviour_.block, false);
      case SoftmaxForm::unweighted_merge:
        return merged_weights(input, behaviour_.block, true);
    }
    return whole_weights(input);
  }

  // Every key's weights sum to one over the rows that see it.
  Weights<T> weights_over_queries(const WeightInput<T>& input) const {
    Weights<T> weights;
    std::vector<T> totals(input.scores.size(), T(0));
    for (std::int64_t other = 0; other < behaviour_.queries(); ++other) {
      const RowKeys keys = keys_of_row(behaviour_, batch_, head_, other);
      const Scores<T> scores = ScoreReader<T>(behaviour_, batch_, head_, other).of(keys);
      for (std::size_t k = 0, m = 0; k < input.keys.size(); ++k) {
        while (m < keys.visible.size() && keys.visible[m] < input.keys[k]) ++m;
        if (m == keys.visible.size() || keys.visible[m] != input.keys[k]) continue;
        totals[k] += exponential(scores.final[m], input.scores[k]);
      }
    }
    for (const T& total : totals) weights.of_keys.push_back(T(T(1) / total));
    return weights;
  }

  bool spoilt_by_arithmetic(const Scores<T>& scores, const WeightInput<T>& input) const {
    if (scores.is_nan) return true;
    const auto is_dropped = [](char flag) { return flag != 0; };
    if (std::all_of(scores.dropped.begin(), scores.dropped.end(), is_dropped)) return true;
    const double largest = middle(largest_score(input));
    if (behaviour_.overflow.exponential &&
        (largest > largest_exponent || largest < least_exponent)) {
      return true;
    }
    const std::int64_t tile = behaviour_.overflow.sink_tile;
    const auto first = static_cast<std::int64_t>(keys_.visible.front());
    return tile > 0 && input.sink && first - keys_.begin >= tile;
  }

  void sum_values(const Weights<T>& weights) {
    T factor = behaviour_.output_factor ? number<T>(*behaviour_.output_factor) : T(1);
    if (!behaviour_.head_factors.empty()) {
      const auto heads = static_cast<std::size_t>(behaviour_.query_heads());
      const auto head = static_cast<std::size_t>(head_);
      factor *= T(behaviour_.head_factors[static_cast<std::size_t>(batch_) * heads + head]);
    }
    if (behaviour_.running_sum == nullptr) add_plainly(weights);
    // A factor or a sink's value after the sum would move it off the format's numbers again.
    if (!behaviour_.output_factor && behaviour_.head_factors.empty() &&
        !behaviour_.sink_has_value) {
      result_.narrow = behaviour_.running_sum;
    }
    for (std::size_t c = 0; c < result_.output.size(); ++c) {
      T sum = behaviour_.running_sum != nullptr ? narrow_sum(weights, c) : result_.output[c];
      if (behaviour_.sink_has_value && weights.sink) sum += T(*weights.sink * T(value(0, c)));
      result_.output[c] = T(sum * factor);
      if (std::isnan(middle(result_.output[c]))) result_.is_nan[c] = 1;
    }
  }

  void add_plainly(const Weights<T>& weights) {
    if constexpr (std::is_same_v<T, double>) {
      add_quickly(weights.of_keys);
      return;
    }
    for (std::size_t k = 0; k < keys_.visible.size(); ++k) {
      if (keys_.reads_zero(k)) continue;
      const OperandRow row =
          behaviour_.value_row(batch_, value_head_, static_cast<std::int64_t>(keys_.visible[k]));
      for (std::size_t c = 0; c < result_.output.size(); ++c) {
        result_.output[c] += T(weights.of_keys[k] * T(row[static_cast<std::int64_t>(c)]));
      }
    }
  }

  // The values of four keys at a time: half as many loads and stores of the sums.
  void add_quickly(const std::vector<double>& weights) {
    constexpr std::size_t together = 4;
    const std::size_t columns = result_.output.size();
    std::array<const double*, together> rows{};
    std::array<double, together> factors{};
    std::size_t filled = 0;
    double* sums = nullptr;
    if constexpr (std::is_same_v<T, double>) sums = result_.output.data();
    for (std::size_t k = 0; k < keys_.visible.size(); ++k) {
      if (keys_.reads_zero(k)) continue;
      const OperandRow row =
          behaviour_.value_row(batch_, value_head_, static_cast<std::int64_t>(keys_.visible[k]));
      if (row.direct() == nullptr) {
        for (std::size_t c = 0; c < columns; ++c) {
          sums[c] += weights[k] * row[static_cast<std::int64_t>(c)];
        }
        continue;
      }
      rows[filled] = row.direct();
      factors[filled++] = weights[k];
      if (filled < together) continue;
      filled = 0;
      for (std::size_t c = 0; c < columns; ++c) {
        sums[c] += (factors[0] * rows[0][c] + factors[1] * rows[1][c]) +
                   (factors[2] * rows[2][c] + factors[3] * rows[3][c]);
      }
    }
    for (std::size_t n = 0; n < filled; ++n) {
      for (std::size_t c = 0; c < columns; ++c) sums[c] += factors[n] * rows[n][c];
    }
  }

  // Weights that round differently in the implementation may turn a step the other way: an
  // ulp of the format at the largest sum for each of a few steps is left open.
  T narrow_sum(const Weights<T>& weights, std::size_t c) {
    const FloatFormat& format = *behaviour_.running_sum;
    double sum = 0;
    double largest = 0;
    for (std::size_t k = 0; k < keys_.visible.size(); ++k) {
      const double term =
          middle(weights.of_keys[k]) * value(static_cast<std::int64_t>(keys_.visible[k]), c);
      if (!std::isfinite(sum + term)) return T(0);
      sum = rounded_to(format, sum + term);
      largest = std::max(largest, std::abs(sum));
    }
    result_.slack.resize(result_.output.size());
    result_.slack[c] = 4 * format.unit_roundoff() * largest;
    return T(sum);
  }

  void spoil_by_hidden() {
    if (!behaviour_.overflow.hidden_key && !behaviour_.overflow.hidden_value) return;
    std::size_t next = 0;
    for (std::int64_t j = std::max(keys_.begin, keys_.zeros_end); j < keys_.begin + keys_.slots;
         ++j) {
      while (next < keys_.visible.size() && keys_.visible[next] < static_cast<std::size_t>(j)) {
        ++next;
      }
      if (next < keys_.visible.size() && keys_.visible[next] == static_cast<std::size_t>(j)) {
        ++next;
        continue;
      }
      if (behaviour_.overflow.hidden_key && !key_is_finite(j)) all_nan();
      for (std::size_t c = 0; behaviour_.overflow.hidden_value && c < result_.output.size(); ++c) {
        if (!std::isfinite(value(j, c))) result_.is_nan[c] = 1;
      }
    }
  }

  bool key_is_finite(std::int64_t j) const {
    const std::int64_t head = behaviour_.key_head[static_cast<std::size_t>(head_)];
    for (std::int64_t d = 0; d < behaviour_.key_size(); ++d) {
      if (!std::isfinite(behaviour_.key_at(batch_, head, j, d))) return false;
    }
    return true;
  }

  const Behaviour& behaviour_;
  std::int64_t batch_;
  std::int64_t head_;
  std::int64_t row_;
  std::int64_t value_head_;
  RowKeys keys_;
  EvaluatedRow<T> result_;
};

}  // namespace

template <class T>
EvaluatedRow<T> evaluate_row(const Behaviour& behaviour, std::int64_t batch, std::int64_t head,
                             std::int64_t row) {
  return RowEvaluator<T>(behaviour, batch, head, row).evaluate();
}

double log_sum_exp(const EvaluatedRow<double>& row) {
  double largest = row.sink_score.value_or(-std::numeric_limits<double>::infinity());
  for (const double score : row.scores) largest = std::max(largest, score);
  if (std::isinf(largest)) return largest;
  double sum = row.sink_score ? std::exp(*row.sink_score - largest) : 0;
  for (const double score : row.scores) sum += std::exp(score - largest);
  return largest + std::log(sum);
}

template EvaluatedRow<double> evaluate_row(const Behaviour&, std::int64_t, std::int64_t,
                                           std::int64_t);
template EvaluatedRow<Ball> evaluate_row(const Behaviour&, std::int64_t, std::int64_t,
                                         std::int64_t);

}  // namespace gqa
