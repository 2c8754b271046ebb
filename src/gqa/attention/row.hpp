// One row of attention: the formula, written once, for every number system.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "gqa/attention/numbers.hpp"
#include "gqa/attention/score_stages.hpp"
#include "gqa/attention/tensor.hpp"

namespace gqa {

/// What one query row reads: one query head of one batch entry, and the KV head that
/// the head map gives it.
///
/// Scores come from query, key and scale, or, where `strengths` is given, enter after
/// exp. Optional parts are null.
template <class N>
struct RowOperands {
  std::span<const typename N::Query> query;         ///< [dk]
  MatrixView<const typename N::Key> key;            ///< [S, dk]
  const typename N::Values* values = nullptr;       ///< of value [S, dv]
  const typename N::Key* scale = nullptr;           ///< null: the query is scaled already
  const typename N::Strength* softcap = nullptr;    ///< null: off
  std::span<const typename N::Score> bias;          ///< [S] or empty: added after softcap
  const typename N::Score* shift = nullptr;         ///< added to every score of the row
  const typename N::Score* sink = nullptr;          ///< logit without a value
  std::span<const typename N::Strength> strengths;  ///< [S] or empty: exp(score) without bias
  std::span<const std::size_t> visible;             ///< ascending visible keys
};

/// Where one row's results go. `output` is written whole; `weights` may be empty (not
/// wanted) and is otherwise written at visible keys alone: the caller's zeros stay.
template <class N>
struct RowResult {
  std::span<typename N::Value> output;      ///< [dv]; zeros if the row is empty
  std::span<typename N::Strength> weights;  ///< [S] or empty
  std::vector<typename N::Score> scores;    ///< [S]; empty if strengths were stipulated
  bool empty = false;                       ///< no visible key
};

/// What bias and shift add to the score of key j; nullopt if neither is there.
template <class N>
std::optional<typename N::Score> added_score(const RowOperands<N>& row, std::size_t j) {
  if (row.bias.empty()) {
    return row.shift == nullptr ? std::nullopt : std::optional(*row.shift);
  }
  return row.shift == nullptr ? row.bias[j] : row.bias[j] + *row.shift;
}

/// Scores of the visible keys.
template <class N>
std::vector<typename N::Score> row_scores(const RowOperands<N>& row, std::size_t keys) {
  std::vector<typename N::Score> scores(keys);
  for (const std::size_t j : row.visible) {
    const auto added = added_score(row, j);
    scores[j] = score_stages<N>(N::dot(row.query, row.key.row(j)), row.scale, row.softcap,
                                added ? &*added : nullptr);
  }
  return scores;
}

/// Which results are wanted beside the outputs.
enum class Wanted { output, output_and_weights };

/// exp of the row's scores up to a factor common to the row, zero for invisible keys; the
/// sink's strength beside it.
template <class N>
struct RowStrengths {
  std::vector<typename N::Strength> own;          ///< storage, unless stipulated
  std::span<const typename N::Strength> of_keys;  ///< [S]
  typename N::Strength sink = typename N::Strength(0);
};

/// Step 5's numerators; `scores` receives the scores where there are any.
template <class N>
RowStrengths<N> row_strengths(const RowOperands<N>& row, std::size_t keys,
                              std::vector<typename N::Score>& scores) {
  RowStrengths<N> result;
  if (!row.strengths.empty() && row.bias.empty() && row.shift == nullptr) {
    result.of_keys = row.strengths;
    if (row.sink != nullptr) result.sink = N::strength(*row.sink, typename N::Score());
    return result;
  }
  result.own.assign(keys, typename N::Strength(0));
  if (row.strengths.empty()) {
    scores = row_scores(row, keys);
    const auto shift = N::shift(scores, row.visible, row.sink);
    for (const std::size_t j : row.visible) result.own[j] = N::strength(scores[j], shift);
    if (row.sink != nullptr) result.sink = N::strength(*row.sink, shift);
  } else {
    for (const std::size_t j : row.visible) {
      result.own[j] = row.strengths[j] * N::strength(*added_score(row, j), typename N::Score());
    }
    if (row.sink != nullptr) result.sink = N::strength(*row.sink, typename N::Score());
  }
  result.of_keys = result.own;
  return result;
}

/// Steps 1 to 6 of the definition for one row of `keys` keys.
template <class N>
void attend_row(const RowOperands<N>& row, std::size_t keys, RowResult<N>& result) {
  result.empty = row.visible.empty();
  if (result.empty) {
    std::ranges::fill(result.output, typename N::Value(0));
    return;
  }
  const RowStrengths<N> strengths = row_strengths(row, keys, result.scores);
  if (!result.weights.empty()) {
    typename N::Strength total(strengths.sink);
    for (const std::size_t j : row.visible) total += strengths.of_keys[j];
    for (const std::size_t j : row.visible) {
      result.weights[j] = strengths.of_keys[j] / total;
    }
  }
  row.values->means(strengths.of_keys, row.visible, strengths.sink, result.output);
}

}  // namespace gqa
