// The bounds of precision models, written a second time: in long double, over plain lists, from the
// formulas in the comments of likely_bound.hpp, worst_bound.cpp and score_bound.cpp. The copy is on
// purpose, as in gradient_twin.hpp: a term that is lost, doubled or given another factor in one of
// the two shows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "gqa/audit/models/rounding_units.hpp"

namespace gqa::test {

using Real = long double;

/// One row: what a kernel sees of its keys, and the sink as a key without a value.
struct TwinRow {
  std::vector<Real> query;              ///< [dk]
  std::vector<std::vector<Real>> keys;  ///< [n, dk]
  std::vector<Real> raw, scores, weights;
  std::vector<Real> biases;  ///< empty: none
  Real scale = 1, softcap = 0;
  bool plain = true, sink = false;
  Real sink_score = 0, sink_weight = 0;
};

class BoundTwin {
 public:
  BoundTwin(const PrecisionModel& model, const FormatRounding& recorded, TwinRow row)
      : m_(model), recorded_(recorded), r_(std::move(row)) {
    largest_ = *std::max_element(r_.scores.begin(), r_.scores.end());
    if (r_.sink) largest_ = std::max(largest_, r_.sink_score);
    for (std::size_t k = 0; k < n(); ++k) denominator_ += std::exp(r_.scores[k] - largest_);
    if (r_.sink) denominator_ += std::exp(r_.sink_score - largest_);
  }

  Real likely(const std::vector<Real>& v, Real o) const {
    const Real N = count(), dk = width();
    Real spread = 0, squares = 0, v2 = 0, sum = 0, weighted = 0, weak_output = 0, covariance = 0;
    Real underflown = 0;
    const Real t_p = m_.weights_scaled ? m_.weight_underflow / denominator_ : m_.weight_underflow;
    for (std::size_t k = 0; k < n(); ++k) {
      const Real w = r_.weights[k];
      spread += sq(w) * variance(k) * sq(v[k] - o);
      squares += sq(w * v[k]);
      v2 += sq(v[k]);
      sum += v[k];
      weighted += w * v[k];
      weak_output += weak(k) * w * v[k];
      covariance += weak(k) * w * (r_.scores[k] - weak_mean()) * v[k];
      if (m_.weight_underflow >= 0x1p-100) underflown += lost(w, t_p, 9) * std::abs(v[k]);
    }
    const Real size = std::abs(o), reach = size + std::sqrt(squares);
    Real lost_values = 0;
    for (std::size_t k = 0; k < n(); ++k) {
      lost_values += lost(r_.weights[k] * std::abs(v[k]), m_.accumulation * reach, 5);
    }
    const Real sd_v = deviation_with_sink(v, 0);
    const Real sd_s = deviation_with_sink(r_.scores, r_.sink_score);
    const Real sd_terms = std::sqrt(std::max<Real>(squares / N - sq(weighted / N), 0));

    Real var = spread + sink_variance() * sq(o);
    const Real equal = pairs([this](std::size_t j, std::size_t k) { return same_score(j, k); });
    var += (sq(m_.weight) + sq(m_.value)) / 3 * squares;
    var += sq(m_.accumulation) * (N / 6 + equal / 24) * squares;
    var += sq(m_.accumulation) * (N / 9 + equal / 45) * sq(o);
    var += sq(m_.denominator) * sum_length() * sq(o);
    var += equal_classes(v, o);
    if (m_.operand > 0) var += sq(m_.operand) / 3 * query_covariance(v, o);
    var += (sq(t_p) + sq(m_.inner_underflow)) / 3 * v2;
    var += 2 * sq(m_.inner_underflow) / 3 * N * (1 + sq(o));

    Real common = (m_.score + m_.exponential) * sd_s * sd_v;
    common += std::max(share(m_.weight, key_deviation()) * (m_.weight * size + t_p * std::abs(sum)),
                       share(m_.weight, weak_deviation()) * m_.weight * std::abs(weak_output));
    common += share(2 * m_.value * size, sd_v) * m_.value * size;
    common += stored_share() * std::abs(covariance);
    common += N / 2 * size *
              (m_.denominator * denominator_share() +
               m_.accumulation * share(2 * m_.accumulation * size, sd_terms));
    common += lost_values + size * lost_weights() + underflown;
    if (m_.products_at_once > 0) {
      common += m_.accumulation * N / m_.products_at_once * reach;
      common += m_.score * dk / m_.products_at_once * sd_s * sd_v;
    }
    return m_.lambda * std::sqrt(var) + common + stored(size);
  }

  /// Infinite where a computed denominator may vanish.
  Real worst(const std::vector<Real>& v, Real o) const {
    const Real N = count() + (r_.sink ? 1 : 0), E = exponent_error();
    const Real up = std::exp(E) * grown(N + 2, 4 * m_.exponential) * (1 + Real(m_.weight));
    const Real down = std::exp(-E) * grown(N + 2, -4 * m_.exponential) * (1 - Real(m_.weight));
    const Real alpha = up * grown(2 * N + 4, sum_unit()) * (1 + Real(m_.value)) - 1;
    const Real beta = up * grown(2 * N + 4, m_.denominator) - 1;
    const Real amplified = N * up * (1 + std::max(alpha, beta));
    const Real t_i = m_.inner_underflow, t_p = m_.weight_underflow;
    const Real least = down * grown(2 * N + 4, -m_.denominator) - amplified * (4 * t_i + t_p);
    if (least <= 0) return HUGE_VALL;
    Real mean = 0, largest = 0;
    for (std::size_t k = 0; k < n(); ++k) {
      mean += r_.weights[k] * std::abs(v[k]);
      largest = std::max(largest, std::abs(v[k]));
    }
    const Real size = std::abs(o);
    const Real tiny = (2 * t_i + t_p) * largest + 2 * t_i + (4 * t_i + t_p) * size;
    const Real moved = (alpha * mean + beta * size + amplified * tiny) / least;
    return moved + stored(size + moved);
  }

  Real score_likely(std::size_t k) const {
    const Real P = products(k);
    Real common = 2 * Real(m_.score) * std::abs(r_.raw[k]);
    if (m_.products_at_once > 0) {
      common += m_.score * width() / m_.products_at_once * (std::abs(r_.raw[k]) + std::sqrt(P));
    }
    return m_.lambda * std::sqrt(stored_variance(k)) + common + underflow(k) +
           stored(std::abs(r_.scores[k]));
  }
  Real score_worst(std::size_t k) const {
    return score_error(k) + stored(std::abs(r_.scores[k]) + score_error(k));
  }

  Real weight_likely(std::size_t k) const {
    const Real w = r_.weights[k];
    const Real var = sq(1 - w) * variance(k) + normaliser_variance() +
                     (sq(m_.weight) + sq(m_.exponential)) / 3 +
                     sq(m_.denominator) * (sum_length() + 1 / Real(9));
    const Real common =
        (2 * Real(m_.score) + m_.exponential) * std::abs(r_.scores[k] - mean_score()) +
        normaliser_common();
    return w * (m_.lambda * std::sqrt(var) + common) + stored(w) +
           2 * (Real(m_.weight_underflow) + m_.inner_underflow);
  }
  Real weight_worst(std::size_t k) const {
    const Real w = r_.weights[k];
    const Real N = count() + (r_.sink ? 1 : 0);
    const Real up = std::exp(weight_exponent()) * grown(4 + 4 * N, m_.exponential);
    const Real relative = up * (1 + Real(m_.weight)) * grown(2, m_.exponential) / below() - 1;
    return w * relative + stored(w * (1 + relative)) +
           2 * (Real(m_.weight_underflow) + m_.inner_underflow);
  }
  Real lse_likely(Real lse) const {
    return m_.lambda * std::sqrt(normaliser_variance() +
                                 sq(m_.denominator) * (sum_length() + 1 / Real(9))) +
           (2 * Real(m_.score) + m_.exponential) * std::abs(mean_score()) + normaliser_common() +
           lse_rounding(lse) + stored(std::abs(lse)) + (count() + 2) * m_.inner_underflow;
  }
  Real lse_worst(Real lse) const {
    const Real moved = std::abs(std::log(below())) + lse_rounding(lse);
    return moved + stored(std::abs(lse) + moved) + (count() + 2) * m_.inner_underflow;
  }

 private:
  static Real sq(Real x) { return x * x; }
  static Real grown(Real times, Real unit) { return std::pow(1 + unit, times); }
  static Real lost(Real term, Real unit, int gone) {
    return std::max<Real>(0, std::min(std::min(term, unit), gone * unit - term));
  }
  // Numbers that are equal spread by nothing, but for the rounding of the sums here.
  static Real share(Real spacing, Real deviation) {
    if (deviation < 1e-9L) deviation = 0;
    const Real larger = std::max(spacing, deviation);
    return larger > 0 ? spacing / larger : 1;
  }

  std::size_t n() const { return r_.scores.size(); }
  Real count() const { return static_cast<Real>(n()); }
  Real width() const { return static_cast<Real>(r_.query.size()); }
  Real norm2(const std::vector<Real>& x) const {
    Real sum = 0;
    for (const Real e : x) sum += sq(e);
    return std::sqrt(sum);
  }
  Real norm4_squared(const std::vector<Real>& x) const {
    Real sum = 0;
    for (const Real e : x) sum += sq(sq(e));
    return std::sqrt(sum);
  }
  Real stored(Real size) const {
    return std::max<Real>(recorded_.roundoff * size, recorded_.underflow);
  }
  Real sum_unit() const { return (m_.products_at_once > 0 ? 2 : 1) * Real(m_.accumulation); }

  Real products(std::size_t k) const {
    return sq(r_.scale) * norm4_squared(r_.query) * norm4_squared(r_.keys[k]);
  }
  Real stored_variance(std::size_t k) const {
    const Real dk = width(), P = products(k), raw2 = sq(r_.raw[k]);
    Real var = sq(m_.score) * ((dk / 6 + 2 / Real(3)) * P + dk / 9 * raw2);
    var += 2 * sq(m_.operand) / 3 * P + 2 * sq(m_.stored_score) / 3 * raw2;
    const Real bias = r_.biases.empty() ? 0 : r_.biases[k];
    if (!r_.plain) var += sq(m_.exponential) / 3 * (4 * sq(r_.scores[k]) + raw2 + 2 * sq(bias));
    return var;
  }
  Real variance(std::size_t k) const {
    return stored_variance(k) +
           sq(m_.exponential) / 3 * (sq(r_.raw[k]) + sq(r_.scores[k] - largest_) + 4);
  }
  Real sink_variance() const {
    if (!r_.sink) return 0;
    return sq(r_.sink_weight * m_.exponential) / 3 *
           (sq(r_.sink_score) + sq(r_.sink_score - largest_) + 4);
  }

  Real deviation_with_sink(const std::vector<Real>& x, Real of_sink) const {
    Real mean = r_.sink ? r_.sink_weight * of_sink : 0;
    for (std::size_t k = 0; k < n(); ++k) mean += r_.weights[k] * x[k];
    Real var = r_.sink ? r_.sink_weight * sq(of_sink - mean) : 0;
    for (std::size_t k = 0; k < n(); ++k) var += r_.weights[k] * sq(x[k] - mean);
    return std::sqrt(var);
  }
  bool same_score(std::size_t j, std::size_t k) const { return r_.scores[j] == r_.scores[k]; }
  bool same_key(std::size_t j, std::size_t k) const { return r_.keys[j] == r_.keys[k]; }
  // Keys whose equals have not all the same score, or share it with others.
  bool counts_as_key(std::size_t k) const {
    for (std::size_t j = 0; j < n(); ++j) {
      if (same_key(j, k) != same_score(j, k)) return true;
    }
    return false;
  }
  // How many pairs, each in both orders and with itself, of keys that have an equal.
  template <class Same>
  Real pairs(const Same& same) const {
    Real all = 0;
    for (std::size_t j = 0; j < n(); ++j) {
      Real own = 0;
      for (std::size_t k = 0; k < n(); ++k) own += same(j, k) ? 1 : 0;
      if (own > 1) all += own;
    }
    return all;
  }
  // sum over pairs of equal keys, each with itself where it has an equal, of x_j x_k and the
  // largest variance among its equals.
  template <class Same>
  Real products_of_pairs(const std::vector<Real>& x, const Same& same, bool with_variance) const {
    Real sum = 0;
    for (std::size_t j = 0; j < n(); ++j) {
      Real others = 0, largest = 0;
      int own = 0;
      for (std::size_t k = 0; k < n(); ++k) {
        if (!same(j, k)) continue;
        ++own;
        others += x[k];
        largest = std::max(largest, variance(k));
      }
      if (own > 1) sum += (with_variance ? largest : 1) * x[j] * others;
    }
    return sum;
  }
  // The errors of scores, where the output moves by x_k times that of each.
  Real common_error(const std::vector<Real>& x) const {
    const auto score = [this](std::size_t j, std::size_t k) { return same_score(j, k); };
    const auto key = [this](std::size_t j, std::size_t k) {
      return same_key(j, k) && counts_as_key(j);
    };
    return products_of_pairs(x, score, true) + products_of_pairs(x, key, true);
  }
  Real equal_classes(const std::vector<Real>& v, Real o) const {
    std::vector<Real> away, terms;
    for (std::size_t k = 0; k < n(); ++k) {
      away.push_back(r_.weights[k] * (v[k] - o));
      terms.push_back(r_.weights[k] * v[k]);
    }
    const auto score = [this](std::size_t j, std::size_t k) { return same_score(j, k); };
    const auto value = [&v](std::size_t j, std::size_t k) { return v[j] == v[k]; };
    return common_error(away) + sq(m_.weight) / 3 * products_of_pairs(terms, score, false) +
           sq(m_.value) / 3 * products_of_pairs(terms, value, false);
  }
  // n/9 and what equal weights add.
  Real sum_length() const {
    return count() / 9 +
           pairs([this](std::size_t j, std::size_t k) { return same_score(j, k); }) / 45;
  }

  // Of the scores, under shares of the weights.
  template <class Share>
  Real mean_under(const Share& of) const {
    Real total = 0, mean = 0;
    for (std::size_t k = 0; k < n(); ++k) {
      total += of(k) * r_.weights[k];
      mean += of(k) * r_.weights[k] * r_.scores[k];
    }
    return mean / std::max<Real>(total, 0x1p-1000L);
  }
  template <class Share>
  Real deviation_under(const Share& of) const {
    const Real mean = mean_under(of);
    Real total = 0, var = 0;
    for (std::size_t k = 0; k < n(); ++k) {
      total += of(k) * r_.weights[k];
      var += of(k) * r_.weights[k] * sq(r_.scores[k] - mean);
    }
    return std::sqrt(var / std::max<Real>(total, 0x1p-1000L));
  }
  Real weak(std::size_t k) const { return std::clamp<Real>(2 - r_.weights[k] * count() / 8, 0, 1); }
  Real weak_mean() const {
    return mean_under([this](std::size_t k) { return weak(k); });
  }
  Real weak_deviation() const {
    return deviation_under([this](std::size_t k) { return weak(k); });
  }
  Real key_deviation() const {
    return deviation_under([](std::size_t) { return Real(1); });
  }
  Real stored_share() const {
    if (m_.stored_score == 0) return 0;
    Real largest = 0;
    for (std::size_t k = 0; k < n(); ++k) {
      largest = std::max(largest, weak(k) * std::abs(r_.scores[k]));
    }
    return share(2 * m_.stored_score * largest, weak_deviation());
  }
  Real denominator_share() const {
    Real sum = 0, squares = 0;
    for (const Real w : r_.weights) {
      sum += w;
      squares += sq(w);
    }
    const Real var = squares / count() - sq(sum / count());
    return share(2 * Real(m_.denominator), std::sqrt(std::max<Real>(var, 0)));
  }
  Real lost_weights() const {
    Real sum = 0;
    for (const Real w : r_.weights) sum += lost(w, m_.denominator, 5);
    return sum;
  }
  Real query_covariance(const std::vector<Real>& v, Real o) const {
    Real sum = 0;
    for (std::size_t t = 0; t < r_.query.size(); ++t) {
      Real product = 0, mean = 0;
      for (std::size_t k = 0; k < n(); ++k) {
        product += r_.weights[k] * r_.keys[k][t] * v[k];
        mean += r_.weights[k] * r_.keys[k][t];
      }
      sum += sq(r_.query[t] * (product - mean * o));
    }
    return sq(r_.scale) * sum;
  }

  Real later() const { return grown(6, m_.exponential) * grown(2, m_.stored_score); }
  Real underflow(std::size_t k) const {
    const Real root = std::sqrt(width());
    const Real tiny = m_.inner_underflow * std::max<Real>(1, r_.scale) *
                      (root * (root + norm2(r_.query) + norm2(r_.keys[k])) + 2);
    if (r_.plain) return tiny;
    return later() * tiny + 6 * Real(m_.inner_underflow) * std::max<Real>(1, r_.softcap);
  }
  Real score_error(std::size_t k) const {
    const Real unit = (m_.products_at_once > 0 ? 2 : 1) * Real(m_.score);
    const Real growth = grown(width() + 6, unit) * grown(2, m_.stored_score) * grown(2, m_.operand);
    const Real error =
        (growth - 1) * r_.scale * norm2(r_.query) * norm2(r_.keys[k]) + growth * underflow(k);
    if (r_.plain) return error;
    const Real bias = r_.biases.empty() ? 0 : r_.biases[k];
    return later() * error + (later() - 1) * (std::abs(r_.scores[k]) + std::abs(r_.raw[k]) + bias);
  }
  Real exponent_error() const {
    Real D = 0, distance = 0, size = 0;
    for (std::size_t k = 0; k < n(); ++k) {
      D = std::max(D, score_error(k));
      distance = std::max(distance, std::abs(r_.scores[k] - largest_));
      size = std::max(size, std::abs(r_.scores[k]));
    }
    if (r_.sink) {
      distance = std::max(distance, std::abs(r_.sink_score - largest_));
      size = std::max(size, std::abs(r_.sink_score));
    }
    return D + 4 * Real(m_.exponential) * (distance + 3 * D + size + std::log(count() + 1) + 1);
  }

  Real mean_score() const {
    Real mean = r_.sink ? r_.sink_weight * r_.sink_score : 0;
    for (std::size_t k = 0; k < n(); ++k) mean += r_.weights[k] * r_.scores[k];
    return mean;
  }
  Real normaliser_variance() const {
    Real var = sink_variance();
    for (std::size_t k = 0; k < n(); ++k) {
      var += sq(r_.weights[k]) * variance(k) + sq(m_.operand) / 3 * r_.weights[k] * products(k);
    }
    return var + common_error(r_.weights);
  }
  Real normaliser_common() const {
    return count() / 2 * m_.denominator * denominator_share() + lost_weights() +
           2 * Real(m_.stored_score) * stored_share() * std::abs(mean_score());
  }
  Real weight_exponent() const {
    return exponent_error() + m_.exponential * (std::abs(largest_) + 2 * std::log(denominator_));
  }
  Real below() const {
    const Real N = count() + (r_.sink ? 1 : 0);
    return std::exp(-weight_exponent()) * grown(4 + 4 * N, -m_.exponential) *
           grown(2 * N + 2, -m_.denominator);
  }
  Real lse_rounding(Real lse) const {
    return m_.exponential *
           (2 * std::abs(largest_) + 6 * std::abs(std::log(denominator_)) + std::abs(lse));
  }

  PrecisionModel m_;
  FormatRounding recorded_;
  TwinRow r_;
  Real largest_ = 0, denominator_ = 0;
};

}  // namespace gqa::test
