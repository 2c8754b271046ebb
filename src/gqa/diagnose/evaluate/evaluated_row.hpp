// One output row under a behaviour, in binary64 for search and in balls for proof.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gqa/diagnose/evaluate/behaviour.hpp"

namespace gqa {

/// What a row holds under a behaviour, and what the rounding bounds need to know of it.
/// T is double (approximate) or Ball (enclosures).
template <class T>
struct EvaluatedRow {
  bool anything = false;     ///< the behaviour leaves the row's content open
  std::vector<T> output;     ///< [dv]
  std::vector<char> is_nan;  ///< [dv] the behaviour gives NaN there
  /// Where the last step rounds to a narrow format: the output is a number of that format.
  const FloatFormat* narrow = nullptr;
  std::vector<double> slack;  ///< [dv] or empty: beyond rounding, what the behaviour leaves open

  /// Does the k-th visible key, and its value, read as zero?
  bool reads_zero(std::size_t k) const { return static_cast<std::int64_t>(visible[k]) < zeros_end; }

  std::vector<std::size_t> visible;  ///< keys of the softmax; empty: nothing was rounded
  std::int64_t zeros_end = 0;        ///< of those, keys and values below this read as zeros
  std::vector<T> raw_scores;         ///< per visible key, scale q.k
  std::vector<T> scores;             ///< as exponentiated
  std::vector<T> weights;
  std::optional<T> sink_score;
  std::optional<T> sink_weight;
};

/// Evaluates output row (batch, head, row). Balls enclose at the thread's precision, except
/// that the rules of OverflowRules and the order of online maxima go by midpoints, and a
/// running sum in a narrow format is emulated in binary64 (its `slack` covers that).
template <class T>
EvaluatedRow<T> evaluate_row(const Behaviour& behaviour, std::int64_t batch, std::int64_t head,
                             std::int64_t row);

/// ln of the sum of exp of the row's scores and of its sink; minus infinity without any.
double log_sum_exp(const EvaluatedRow<double>& row);

extern template EvaluatedRow<double> evaluate_row(const Behaviour&, std::int64_t, std::int64_t,
                                                  std::int64_t);
extern template EvaluatedRow<Ball> evaluate_row(const Behaviour&, std::int64_t, std::int64_t,
                                                std::int64_t);

}  // namespace gqa
