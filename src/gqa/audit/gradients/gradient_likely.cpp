#include "gqa/audit/gradients/gradient_likely.hpp"

namespace gqa {
namespace {

constexpr double pi = 3.14159265358979323846;
// Roundings finer than that, replayed or not, are small against what averages out.
constexpr double coarse = 0x1p-20;

}  // namespace

GradientRoundings::GradientRoundings(const PrecisionModel& precision, std::int64_t key_columns,
                                     std::int64_t value_columns, double cap, bool has_bias,
                                     double score_scale, double storage_roundoff,
                                     double storage_underflow)
    : model(precision),
      unstored(precision),
      stored(precision.stored_score > 0),
      replays_weights(precision.weight > coarse),
      plain(cap == 0 && !has_bias),
      key_size(static_cast<double>(key_columns)),
      value_size(static_cast<double>(value_columns)),
      softcap(cap),
      scale(score_scale),
      output_roundoff(std::max(precision.output, storage_roundoff)),
      output_underflow(std::max(precision.storage_underflow, storage_underflow)) {
  unstored.stored_score = 0;
  replays_output = !stored && output_roundoff > coarse;
}

Replay<double> replayed_rounding(double y, double u, double tiny) {
  if (y == 0 || !std::isfinite(y)) return {};
  constexpr double edge = 0x1p-10;
  const double magnitude = std::abs(y);
  const double spacing = std::max(std::ldexp(2 * u, std::ilogb(magnitude)), 2 * tiny);
  const double place = magnitude / spacing;
  double part = place - std::nearbyint(place);
  const double left = 0.5 - std::abs(part);
  Replay<double> replay;
  if (left < edge) {
    part = std::copysign(left * (0.5 - edge) / edge, part);
    replay.undecided = 0.5 * (1 - left / edge) * spacing;
  }
  replay.moved = (y < 0 ? part : -part) * spacing;
  return replay;
}

Replay<Ball> replayed_rounding(const Ball& y, double u, double tiny) {
  const double lower = y.lower_double();
  const double upper = y.upper_double();
  if (!std::isfinite(lower) || !std::isfinite(upper)) {
    return {Ball(1) / Ball(0), Ball(1) / Ball(0)};
  }
  const double middle = lower + (upper - lower) / 2;
  // Both rise and fall by at most 512 times their argument; the last terms are binary64's own.
  const double radius = 512 * (upper - lower) + 0x1p-42 * std::abs(middle) + 0x1p-1000;
  const Replay<double> replay = replayed_rounding(middle, u, tiny);
  return {Ball::with_radius(replay.moved, radius), Ball::with_radius(replay.undecided, radius)};
}

template <class T>
void GradientLikelyRow<T>::start(const GradientRoundings& r, const GradientRowGiven<T>& row) {
  *this = {};
  given = row;
  rho2 = T(square(r.model.exponential) / 3) * square(row.lse);
}

template <class T>
void GradientLikelyRow<T>::add(const GradientRoundings& r, const GradientPair<T>& pair,
                               const GradientPairErrors<T>& e, double value_norm) {
  using std::abs;
  using std::exp;
  using std::max;
  const T copies(pair.copies);
  copies_ = std::max(copies_, pair.copies);
  const T varied = copies * e.p2 * e.score;
  rho2 += varied;
  weighted_errors_ += varied * square(e.own);
  const T product2 = square(pair.product);
  rounded_ += e.weight * product2;
  rounded_shared_ += e.shared * e.weight * product2;
  squares_ += e.p2 * (r.stored ? product2 : T(given.grad4 * pair.value4));
  drift += e.drift;
  drift_product += e.drift * abs(e.own);
  magnitudes += e.p * abs(pair.product);
  value_norms += e.p * T(value_norm);
  if (r.stored) {
    const T stored = copies * e.p2 * e.stored_score;
    stored0 += stored;
    stored1 += stored * e.own;
    stored2 += stored * square(e.own);
    stored_score += stored;
    stored_products += e.p2 * e.stored_product;
    score_mean_ += e.p * pair.score;
    score_square_ += e.p * square(pair.score);
    score_largest_ = max(score_largest_, T(abs(pair.score)));
  }
  if (!r.replays_weights) return;
  const double u = r.model.weight;
  const double tiny = r.model.weight_underflow;
  if (r.stored) {
    replay_weights += replayed_rounding(e.p, u, tiny).moved * pair.product;
  } else {
    const T numerator = exp(T(pair.score - given.maximum));
    replay_weights += replayed_rounding(numerator, u, tiny).moved * pair.product;
  }
}

// A key whose value is zero.
template <class T>
void GradientLikelyRow<T>::add_sink(const GradientRoundings& r, const T& logit) {
  using std::exp;
  const T weight = exp(T(logit - given.lse));
  const T varied = sink_score_variance(r.model, weight, logit, T(logit - given.maximum));
  rho2 += varied;
  weighted_errors_ += varied * square(given.delta);
}

template <class T>
void GradientLikelyRow<T>::finish(const GradientRoundings& r) {
  using std::exp;
  using std::max;
  using std::min;
  using std::sqrt;
  const PrecisionModel& m = r.model;
  const T n(given.visible);
  const T sum2 = T(square(m.denominator)) * n * T(copies_ / 9);
  const T delta2 = square(given.delta);
  const T ua2(square(m.accumulation));
  rho2 += sum2;
  const T subtracted =
      given.has_grad_lse ? T(T(square(m.score)) * (delta2 + square(given.grad_lse))) : T(0);
  if (r.stored) {
    const T spread = sqrt(max(T(0), T(score_square_ - square(score_mean_))));
    const T spacing = T(2 * m.stored_score) * score_largest_;
    // Below a quarter of the spacing all keys may share one point anyway.
    const T deviation = max(spread, T(spacing / T(4) + T(0x1p-600)));
    shared_bins = min(n, T(T(1) + n * spacing / (T(2 * std::sqrt(pi)) * deviation)));
    eta2 = shared_bins * rounded_ + rounded_shared_ + weighted_errors_ +
           ua2 * (n / T(6) * squares_ + n / T(9) * delta2) + subtracted;
    return;
  }
  const T us2(square(m.score) * r.value_size);
  const GradientOutputSums<T>& output = given.output;
  eta2 = output.stored + rounded_ + weighted_errors_ + sum2 * delta2 +
         ua2 * (n / T(6) * squares_ + n / T(9) * output.squares) +
         us2 * (output.squares / T(6) + delta2 / T(9)) + subtracted;
  replay_output = output.replay;
  // exp(maximum - lse) is one over the sum of the numerators.
  replay_weights = replay_weights * exp(T(given.maximum - given.lse));
}

template struct GradientLikelyRow<double>;
template struct GradientLikelyRow<Ball>;

}  // namespace gqa
