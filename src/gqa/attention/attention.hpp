// Grouped attention: the formula, written once, for every number system.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gqa/attention/contract.hpp"
#include "gqa/attention/dimensions.hpp"
#include "gqa/attention/numbers.hpp"
#include "gqa/attention/tensor.hpp"
#include "gqa/attention/visibility.hpp"

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

/// One row's result. Invisible keys hold a zero score and a zero weight.
template <class N>
struct RowResult {
  std::vector<typename N::Score> scores;      ///< [S]; empty if strengths were stipulated
  std::vector<typename N::Strength> weights;  ///< [S]
  std::vector<typename N::Value> output;      ///< [dv]; zeros if the row is empty
  bool empty = false;                         ///< no visible key
};

/// What bias and shift add to the score of key j; nullopt if neither is there.
template <class N>
std::optional<typename N::Score> added_score(const RowOperands<N>& row, std::size_t j) {
  if (row.bias.empty()) {
    return row.shift == nullptr ? std::nullopt : std::optional(*row.shift);
  }
  return row.shift == nullptr ? row.bias[j] : row.bias[j] + *row.shift;
}

/// Scores of the visible keys: scale, softcap, bias, in this order.
template <class N>
std::vector<typename N::Score> row_scores(const RowOperands<N>& row, std::size_t keys) {
  std::vector<typename N::Score> scores(keys);
  for (const std::size_t j : row.visible) {
    typename N::Score score = N::dot(row.query, row.key.row(j));
    if (row.scale != nullptr) score = score * *row.scale;
    if (row.softcap != nullptr) score = N::softcapped(score, *row.softcap);
    if (const auto added = added_score(row, j)) score = score + *added;
    scores[j] = score;
  }
  return scores;
}

/// Steps 1 to 6 of the definition for one row of `keys` keys and `value_size` columns.
template <class N>
RowResult<N> attend_row(const RowOperands<N>& row, std::size_t keys, std::size_t value_size) {
  using Strength = typename N::Strength;
  RowResult<N> result;
  result.weights.assign(keys, Strength(0));
  if (row.visible.empty()) {
    result.output.assign(value_size, typename N::Value(0));
    result.empty = true;
    return result;
  }
  std::vector<Strength> strengths(keys, Strength(0));
  Strength sink_strength(0);
  if (row.strengths.empty()) {
    result.scores = row_scores(row, keys);
    const auto shift = N::shift(result.scores, row.visible, row.sink);
    for (const std::size_t j : row.visible) {
      strengths[j] = N::strength(result.scores[j], shift);
    }
    if (row.sink != nullptr) sink_strength = N::strength(*row.sink, shift);
  } else {
    for (const std::size_t j : row.visible) {
      strengths[j] = row.strengths[j];
      if (const auto added = added_score(row, j)) {
        strengths[j] = strengths[j] * N::strength(*added, typename N::Score());
      }
    }
    if (row.sink != nullptr) sink_strength = N::strength(*row.sink, typename N::Score());
  }
  Strength total(sink_strength);
  for (const std::size_t j : row.visible) total += strengths[j];
  for (const std::size_t j : row.visible) result.weights[j] = strengths[j] / total;
  result.output = row.values->means(strengths, row.visible, sink_strength);
  return result;
}

/// A whole problem: tensors in BHSD order, heads shared as the contract says.
template <class N>
struct Problem {
  Contract contract;
  Tensor<typename N::Query> query;                        ///< [B, Hq, T, dk]
  Tensor<typename N::Key> key;                            ///< [B, Hkv, S, dk]
  Tensor<typename N::Value> value;                        ///< [B, Hkv, S, dv]
  std::optional<typename N::Key> scale;                   ///< nullopt: scaled already
  std::optional<typename N::Strength> softcap;            ///< nullopt: off
  std::optional<Tensor<typename N::Strength>> strengths;  ///< [B, Hq, T, S]
  std::optional<Tensor<typename N::Score>> bias;          ///< [B, Hq, T, S]
  std::optional<Tensor<typename N::Score>> score_shift;   ///< [B, Hq, T, 1]
  std::optional<std::vector<typename N::Score>> sink;     ///< [Hq]
  std::optional<std::vector<std::int64_t>> lengths;       ///< [B] nonpad_kv_seqlen
  std::optional<Tensor<char>> mask;                       ///< broadcastable, true attends
};

template <class N>
struct AttentionResult {
  Tensor<typename N::Value> output;      ///< [B, Hq, T, dv]
  Tensor<typename N::Strength> weights;  ///< [B, Hq, T, S]
  std::vector<char> empty;               ///< [B * Hq * T]: 1 where no key is visible
};

/// Sizes of a problem, checked. Errors: those of resolve_dimensions.
template <class N>
Dimensions dimensions_of(const Problem<N>& problem) {
  ProblemShapes shapes;
  shapes.key = problem.key.shape();
  shapes.value = problem.value.shape();
  shapes.query = problem.query.shape();
  if (problem.mask) shapes.attn_mask = problem.mask->shape();
  if (problem.sink) shapes.sink = Shape{static_cast<std::int64_t>(problem.sink->size())};
  return resolve_dimensions(shapes);
}

/// Attention of the query heads of one batch entry on one KV head, row by row.
template <class N>
class HeadReader {
 public:
  HeadReader(const Problem<N>& problem, const Dimensions& d, const Visibility& visibility,
             std::int64_t batch, std::int64_t kv_head)
      : problem_(problem),
        d_(d),
        visibility_(visibility),
        batch_(batch),
        key_(problem.key.matrix(batch, kv_head)),
        values_(flat(problem.value.matrix(batch, kv_head)), static_cast<std::size_t>(d.keys),
                static_cast<std::size_t>(d.value_size)) {}

  RowResult<N> row(std::int64_t head, std::int64_t i) const {
    const auto at = static_cast<std::size_t>(i);
    const std::vector<std::size_t> visible = visibility_.keys_of(batch_, head, i);
    RowOperands<N> row;
    row.key = key_;
    row.values = &values_;
    row.visible = visible;
    row.query = problem_.query.matrix(batch_, head).row(at);
    if (problem_.scale) row.scale = &*problem_.scale;
    if (problem_.softcap) row.softcap = &*problem_.softcap;
    if (problem_.strengths) row.strengths = problem_.strengths->matrix(batch_, head).row(at);
    if (problem_.bias) row.bias = problem_.bias->matrix(batch_, head).row(at);
    if (problem_.score_shift) row.shift = &problem_.score_shift->matrix(batch_, head)(at, 0);
    if (problem_.sink) row.sink = &(*problem_.sink)[static_cast<std::size_t>(head)];
    return attend_row(row, static_cast<std::size_t>(d_.keys),
                      static_cast<std::size_t>(d_.value_size));
  }

 private:
  static std::span<const typename N::Value> flat(MatrixView<const typename N::Value> m) {
    return m.rows() == 0
               ? std::span<const typename N::Value>()
               : std::span<const typename N::Value>(m.row(0).data(), m.rows() * m.columns());
  }

  const Problem<N>& problem_;
  const Dimensions& d_;
  const Visibility& visibility_;
  std::int64_t batch_;
  MatrixView<const typename N::Key> key_;
  typename N::Values values_;
};

/// Grouped attention over all batch entries, query heads and rows.
///
/// Result: exact in ExactNumbers; an enclosure in BallNumbers; otherwise rounded as the
/// type rounds. Empty rows are zero and marked; the policy is the caller's to apply.
/// Errors: InputError from the contract, the shapes, and ExactNumbers.
template <class N>
AttentionResult<N> attention(const Problem<N>& problem) {
  validate(problem.contract);
  const Dimensions d = dimensions_of(problem);
  const auto head_map = resolve_head_map(problem.contract.head_map, d.q_heads, d.kv_heads);
  const Visibility visibility(problem.contract, d, problem.lengths, problem.mask);
  AttentionResult<N> result;
  result.output = Tensor<typename N::Value>({d.batch, d.q_heads, d.queries, d.value_size});
  result.weights = Tensor<typename N::Strength>({d.batch, d.q_heads, d.queries, d.keys});
  result.empty.assign(static_cast<std::size_t>(d.batch * d.q_heads * d.queries), 0);
  for (std::int64_t b = 0; b < d.batch; ++b) {
    std::vector<std::optional<HeadReader<N>>> readers(static_cast<std::size_t>(d.kv_heads));
    for (std::int64_t h = 0; h < d.q_heads; ++h) {
      const std::int64_t kv_head = head_map[static_cast<std::size_t>(h)];
      auto& reader = readers[static_cast<std::size_t>(kv_head)];
      if (!reader) reader.emplace(problem, d, visibility, b, kv_head);
      for (std::int64_t i = 0; i < d.queries; ++i) {
        RowResult<N> row = reader->row(h, i);
        const auto at = static_cast<std::size_t>(i);
        std::ranges::move(row.output, result.output.matrix(b, h).row(at).begin());
        std::ranges::move(row.weights, result.weights.matrix(b, h).row(at).begin());
        result.empty[static_cast<std::size_t>((b * d.q_heads + h) * d.queries + i)] = row.empty;
      }
    }
  }
  return result;
}

/// Every query head's own copy of the history that the map gives it: the expansion
/// [B, Hkv, S, x] -> [B, Hq, S, x] that turns grouped attention into MHA.
/// PyTorch: repeat_interleave(Hq/Hkv, dim=1) for the contiguous map.
template <class T>
Tensor<T> expand_heads(const Tensor<T>& histories, const std::vector<std::int64_t>& head_map) {
  Shape shape = histories.shape();
  shape[1] = static_cast<std::int64_t>(head_map.size());
  Tensor<T> expanded(shape);
  for (std::int64_t b = 0; b < shape[0]; ++b) {
    for (std::int64_t h = 0; h < shape[1]; ++h) {
      const auto from = histories.matrix(b, head_map[static_cast<std::size_t>(h)]);
      const auto to = expanded.matrix(b, h);
      for (std::size_t r = 0; r < from.rows(); ++r)
        std::ranges::copy(from.row(r), to.row(r).begin());
    }
  }
  return expanded;
}

}  // namespace gqa
