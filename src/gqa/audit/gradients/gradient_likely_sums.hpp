// What pairs add to the bounds of gradients, and what the sums over pairs make of it.
//
// Every gradient is a sum over pairs of a factor times an operand x (k, q or g). So are its bounds:
// factors times x^2 in variances, times x where signs count, times |x| where they do not.
#pragma once

#include <array>

#include "gqa/audit/gradients/gradient_likely.hpp"
#include "gqa/audit/gradients/gradient_problem.hpp"
#include "gqa/audit/gradients/gradient_worst.hpp"

namespace gqa {

inline constexpr std::size_t gradient_square_factors = 4;
inline constexpr std::size_t gradient_plain_factors = 5;
inline constexpr std::size_t gradient_magnitude_factors = 3;

/// How many of them a kind of gradient has; the others are zero.
struct GradientFactorCounts {
  std::size_t squares, plain, magnitudes;
};
inline GradientFactorCounts gradient_factor_counts(const GradientRoundings& roundings,
                                                   GradientKind kind) {
  switch (kind) {
    case GradientKind::query:
      return roundings.stored ? GradientFactorCounts{4, 5, 3} : GradientFactorCounts{1, 1, 3};
    case GradientKind::key:
      return {2, roundings.stored ? 3U : 2U, 2};
    case GradientKind::value:
      return {2, 1, 2};
  }
  return {};
}

/// Factors of one pair, or sums of them times an operand's column.
template <class T>
struct GradientFactors {
  std::array<T, gradient_square_factors> squares{};
  std::array<T, gradient_plain_factors> plain{};
  std::array<T, gradient_magnitude_factors> magnitudes{};
};

/// One pair and its row's sums, everything that its factors are made of.
template <class T>
struct GradientTerm {
  const GradientRoundings& roundings;
  const GradientLikelyRow<T>& row;
  const GradientRowWorst<T>& worst;
  const GradientPair<T>& pair;
  const GradientPairErrors<T>& errors;
  double norms = 0;  ///< |g_i|_2 |v_j|_2

  /// R(p).
  Replay<T> rounded_weight() const {
    return replayed_rounding(errors.p, roundings.model.weight, roundings.model.weight_underflow);
  }
  /// t's variance without what is common to the row or stored between the steps.
  T independent() const {
    const GradientPairErrors<T>& e = errors;
    return e.derivative + T(square(roundings.model.score)) * square(e.t) +
           e.p2 * square(e.slope) * e.product;
  }
  T scored() const { return errors.p2 * errors.score * square(T(errors.sensitivity * errors.d)); }
};

/// The replay of the stored weight's rounding in t, whose sums stand at `place`.
template <class T>
void add_replay(const GradientTerm<T>& term, std::size_t place, GradientFactors<T>& factors) {
  using std::abs;
  if (!term.roundings.replays_weights) return;
  const GradientPairErrors<T>& e = term.errors;
  const Replay<T> replay = term.rounded_weight();
  factors.plain[place] = replay.moved * e.d * e.slope;
  factors.magnitudes[0] += replay.undecided * abs(e.d) * e.slope;
}

/// Of grad_query, times the key's elements. The row need not be finished.
template <class T>
GradientFactors<T> query_factors(const GradientTerm<T>& term) {
  const GradientRoundings& r = term.roundings;
  const GradientPairErrors<T>& e = term.errors;
  GradientFactors<T> f;
  // Keys that are equal have equal derivatives where their values are, too, or where grad_lse is
  // all there is: what rounds them rounds alike.
  f.squares[0] = T(term.pair.copies) * (term.independent() + term.scored()) +
                 T(square(r.model.accumulation) * term.row.given.visible / 6) * square(e.t);
  f.plain[0] = e.p * e.slope;
  f.magnitudes[0] = e.lost_derivative;
  f.magnitudes[1] = e.p;
  f.magnitudes[2] = term.worst.query_term(e.p, e.magnitude, term.pair.product, term.norms);
  if (!r.stored) return f;
  const T rounded = e.weight * square(T(e.d * e.slope));
  f.squares[0] += e.shared * rounded;
  f.squares[1] = rounded;
  f.plain[1] = e.p2 * e.stored_product * e.slope;
  f.squares[2] = f.plain[1] * e.slope;
  f.plain[3] = T(term.pair.copies) * e.p2 * e.stored_score * e.d * e.sensitivity;
  f.plain[2] = f.plain[3] * e.own;
  f.squares[3] = f.plain[3] * e.d * e.sensitivity;
  add_replay(term, 4, f);
  return f;
}

/// Of grad_key, times the query's elements. The row is finished.
template <class T>
GradientFactors<T> key_factors(const GradientTerm<T>& term) {
  using std::abs;
  using std::max;
  const GradientRoundings& r = term.roundings;
  const GradientPairErrors<T>& e = term.errors;
  const GradientLikelyRow<T>& row = term.row;
  const T copies(row.given.copies);
  const T slope2 = square(e.slope);
  GradientFactors<T> f;
  f.squares[0] = copies * (term.independent() + term.scored() + e.p2 * slope2 * row.eta2 +
                           row.rho2 * square(e.t));
  f.squares[1] = square(e.t);
  f.plain[0] = e.p * e.slope * row.replay_output;
  f.plain[1] = e.p * e.slope * row.replay_weights;
  f.magnitudes[0] = e.lost_derivative + e.p * e.slope * row.drift_product + row.drift * abs(e.t);
  f.magnitudes[1] = term.worst.key_term(e.p, e.magnitude, term.pair.product, term.norms);
  if (!r.stored) return f;
  const T d2 = square(e.d);
  const T own = e.stored_score * (d2 * square(e.sensitivity) - T(2) * e.p * e.d * (e.d + e.own));
  const T others = slope2 * (d2 * row.stored0 + T(2) * e.d * row.stored1 + row.stored2);
  const T products = slope2 * (e.stored_product * (T(1) - T(2) * e.p) + row.stored_products);
  f.squares[0] += copies * e.p2 * max(T(0), T(own + others)) + e.p2 * max(T(0), products);
  // Rows that are equal round alike, unless the replay says how.
  f.squares[0] += (T(1) + e.shared_rows(row.given.copies)) * e.weight * d2 * slope2;
  add_replay(term, 2, f);
  return f;
}

/// Of grad_value, times grad_output's elements. The row is finished.
template <class T>
GradientFactors<T> value_factors(const GradientTerm<T>& term) {
  using std::max;
  const GradientRoundings& r = term.roundings;
  const GradientPairErrors<T>& e = term.errors;
  const GradientLikelyRow<T>& row = term.row;
  const T copies(row.given.copies);
  T relative = e.score + row.rho2;
  if (r.stored) {
    relative += max(T(0), T(e.stored_score * (T(1) - T(2) * e.p) + row.stored_score));
  }
  GradientFactors<T> f;
  f.squares[0] = copies * e.p2 * relative + (T(1) + e.shared_rows(row.given.copies)) * e.weight;
  f.squares[1] = e.p2;
  f.magnitudes[0] = e.lost_weight + e.p * row.drift;
  if (r.replays_weights) {
    const Replay<T> replay = term.rounded_weight();
    f.plain[0] = replay.moved;
    f.magnitudes[0] += replay.undecided;
  }
  f.magnitudes[1] = term.worst.value_weight * e.p;
  return f;
}

/// What a gradient's elements of one row of it have in common beside the sums.
struct GradientFinish {
  double terms = 0;     ///< n: terms of its sum
  double heads = 1;     ///< query heads that share it
  double roundoff = 0;  ///< of the format in which it is recorded
  double underflow = 0;
};

/// How far one element is likely to move before it is stored for good. `value` is the exact one,
/// `scale` as in it.
template <class T>
T likely_query(const GradientRoundings& r, const GradientLikelyRow<T>& row, const T& scale,
               const GradientFactors<T>& sums, const T& value) {
  using std::abs;
  using std::max;
  using std::sqrt;
  const PrecisionModel& m = r.model;
  const T& kb = sums.plain[0];
  const T kb2 = square(kb);
  T sum = sums.squares[0] + row.eta2 * kb2;
  if (r.stored) {
    const T unscaled = value / scale;
    sum += row.shared_bins * sums.squares[1];
    sum += max(T(0), T(sums.squares[2] - T(2) * kb * sums.plain[1] + kb2 * row.stored_products));
    sum += max(T(0), T(sums.squares[3] - T(2) * kb * sums.plain[2] + kb2 * row.stored2 -
                       T(2) * unscaled * (sums.plain[3] - kb * row.stored1) +
                       square(unscaled) * row.stored0));
  }
  const double n = row.given.visible;
  const T scale2 = square(scale);
  const T variance =
      scale2 * sum +
      (T(square(m.accumulation) * n / 9 + square(m.score)) + row.rho2) * square(value) +
      T(n * square(m.inner_underflow) / 3) * max(T(1), scale2);
  const T added = sums.magnitudes[0] +
                  abs(kb) * (row.drift_product + abs(row.replay_output) + abs(row.replay_weights)) +
                  abs(sums.plain[4]);
  return T(m.lambda) * sqrt(max(T(0), variance)) + scale * added + row.drift * abs(value);
}

/// The parts of single heads, each stored, and their running sum in that format. `head_squares`:
/// sum of max(u |y_h|, t)^2.
template <class T>
T stored_heads_variance(const GradientFinish& finish, const T& head_squares, const T& value) {
  using std::abs;
  using std::max;
  if (finish.heads <= 1) return T(0);
  return (T(1) / T(3) + T(finish.heads) / T(6)) * head_squares +
         T(finish.heads) / T(9) *
             square(max(T(T(finish.roundoff) * abs(value)), T(finish.underflow)));
}

template <class T>
T likely_key(const GradientRoundings& r, const GradientFinish& finish, const T& scale,
             const GradientFactors<T>& sums, const T& head_squares, const T& value) {
  using std::abs;
  using std::max;
  using std::sqrt;
  const PrecisionModel& m = r.model;
  const double ua2 = square(m.accumulation) * finish.terms;
  const T scale2 = square(scale);
  const T variance = scale2 * (sums.squares[0] + T(ua2 / 6) * sums.squares[1]) +
                     T(ua2 / 9 + square(m.score)) * square(value) +
                     stored_heads_variance(finish, head_squares, value) +
                     T(finish.terms * square(m.inner_underflow) / 3) * max(T(1), scale2);
  const T added = sums.magnitudes[0] + abs(sums.plain[0]) + abs(sums.plain[1]) + abs(sums.plain[2]);
  return T(m.lambda) * sqrt(max(T(0), variance)) + scale * added;
}

template <class T>
T likely_value(const GradientRoundings& r, const GradientFinish& finish,
               const GradientFactors<T>& sums, const T& head_squares, const T& value) {
  using std::abs;
  using std::max;
  using std::sqrt;
  const PrecisionModel& m = r.model;
  const double ua2 = square(m.accumulation) * finish.terms;
  const T variance = sums.squares[0] + T(ua2 / 6) * sums.squares[1] + T(ua2 / 9) * square(value) +
                     stored_heads_variance(finish, head_squares, value) +
                     T(finish.terms * square(m.inner_underflow) / 3);
  return T(m.lambda) * sqrt(max(T(0), variance)) + sums.magnitudes[0] + abs(sums.plain[0]);
}

/// An element that moved by `moved` is stored.
template <class T>
T recorded_likely(const T& moved, const T& magnitude, const GradientFinish& finish) {
  using std::max;
  return moved + max(T(T(finish.roundoff) * magnitude), T(finish.underflow));
}

}  // namespace gqa
