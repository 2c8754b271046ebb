// The number systems that the formula is evaluated in.
//
// Attention needs scores, which are added, and strengths, which are multiplied, tied
// by exp (docs/theory.md, "The exact domain"). A Numbers class names the types and the few
// operations that differ between systems; attention.hpp holds the formula itself, once.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gqa/error.hpp"
#include "gqa/num/ball.hpp"
#include "gqa/num/boost_float.hpp"
#include "gqa/num/log_rational.hpp"
#include "gqa/num/rational.hpp"
#include "gqa/num/weighted_mean.hpp"

namespace gqa {

/// (sum over `rows` of weights[r] * values(r, c)) / (the weights' sum + extra), column by
/// column, left to right. The plain loop for every number type without a better way.
template <class T>
void weighted_means_in_order(std::span<const T> values, std::span<const T> weights,
                             std::span<const std::size_t> rows, const T& extra,
                             std::span<T> means) {
  T total = extra;
  for (const std::size_t row : rows) total += weights[row];
  for (T& mean : means) mean = T(0);
  for (const std::size_t row : rows) {
    const T weight(weights[row] / total);
    const std::span<const T> value = values.subspan(row * means.size(), means.size());
    for (std::size_t c = 0; c < means.size(); ++c) means[c] += T(weight * value[c]);
  }
}

/// Exact: scores are rational combinations of logarithms, strengths rationals.
/// The query is stated already scaled, so that sqrt(dk) never has to be represented.
template <class R>
struct ExactNumbers {
  using Query = BasicLogRational<R>;
  using Key = R;
  using Value = R;
  using Score = BasicLogRational<R>;
  using Strength = R;

  static Score dot(std::span<const Query> query, std::span<const Key> key) {
    Score sum;
    for (std::size_t t = 0; t < query.size(); ++t) sum += query[t] * key[t];
    return sum;
  }
  static Score softcapped(const Score& score, const Strength& cap) {
    if (cap == 0) return score;
    throw InputError("exact.softcap", "softcap", "tanh of a logarithm is not an exact score");
  }
  /// exp(score), the same for every key of the row.
  /// Errors: InputError "log_rational.exp_not_rational".
  static Strength strength(const Score& score, const Score& /*shift*/) {
    if (auto value = score.exp()) return *value;
    throw InputError("log_rational.exp_not_rational", "score",
                     "exp of the score is not rational: a coefficient is not an integer");
  }
  /// Exact numbers need no shift against overflow.
  static Score shift(std::span<const Score>, std::span<const std::size_t>, const Score*) {
    return Score();
  }

  /// Rational keeps V on common denominators; the second engine stays independent of that.
  class Values {
   public:
    Values(std::span<const Value> values, std::size_t rows, std::size_t columns)
        : store_(make(values, rows, columns)) {}
    void means(std::span<const Strength> strengths, std::span<const std::size_t> rows,
               const Strength& extra, std::span<Value> result) const {
      if constexpr (std::is_same_v<R, Rational>) {
        store_.means(strengths, rows, extra, result);
      } else {
        weighted_means_in_order<R>(store_, strengths, rows, extra, result);
      }
    }

   private:
    using Store =
        std::conditional_t<std::is_same_v<R, Rational>, ClearedColumns, std::span<const Value>>;
    static Store make(std::span<const Value> values, std::size_t rows, std::size_t columns) {
      if constexpr (std::is_same_v<R, Rational>) {
        return ClearedColumns(values, rows, columns);
      } else {
        return values;
      }
    }
    Store store_;
  };
};

/// Everything in one type, with max-subtraction before exp: floats and balls.
template <class T>
struct RealNumbers {
  using Query = T;
  using Key = T;
  using Value = T;
  using Score = T;
  using Strength = T;

  static T dot(std::span<const T> query, std::span<const T> key) {
    if constexpr (std::is_same_v<T, Ball>) {
      return gqa::dot(query.data(), key.data(), query.size());
    } else {
      T sum(0);
      for (std::size_t t = 0; t < query.size(); ++t) sum += T(query[t] * key[t]);
      return sum;
    }
  }
  static T softcapped(const T& score, const T& cap) {
    using std::tanh;
    if constexpr (!std::is_same_v<T, Ball>) {
      if (cap == T(0)) return score;
    } else {
      if (cap.is_exact() && cap.contains_zero()) return score;
    }
    return T(cap * tanh(T(score / cap)));
  }
  static T strength(const T& score, const T& shift) {
    using std::exp;
    return exp(T(score - shift));
  }
  /// The largest visible score (any shift is exact in mathematics). For balls the
  /// midpoints decide: an exact shift widens nothing.
  static T shift(std::span<const T> scores, std::span<const std::size_t> rows, const T* sink) {
    const T* largest = sink != nullptr ? sink : &scores[rows.front()];
    for (const std::size_t row : rows) {
      if constexpr (std::is_same_v<T, Ball>) {
        if (midpoint_less(*largest, scores[row])) largest = &scores[row];
      } else {
        if (*largest < scores[row]) largest = &scores[row];
      }
    }
    if constexpr (std::is_same_v<T, Ball>) {
      return largest->midpoint();
    } else {
      return *largest;
    }
  }

  class Values {
   public:
    Values(std::span<const T> values, std::size_t /*rows*/, std::size_t /*columns*/)
        : values_(values) {}
    void means(std::span<const T> strengths, std::span<const std::size_t> rows, const T& extra,
               std::span<T> result) const {
      weighted_means_in_order<T>(values_, strengths, rows, extra, result);
    }

   private:
    std::span<const T> values_;
  };
};

using GmpNumbers = ExactNumbers<Rational>;
using BoostNumbers = ExactNumbers<BoostRational>;
using DoubleNumbers = RealNumbers<double>;
using LongDoubleNumbers = RealNumbers<long double>;
using Float50Numbers = RealNumbers<Float50>;
using BallNumbers = RealNumbers<Ball>;

}  // namespace gqa
