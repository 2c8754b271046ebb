// Grouped attention over whole problems: every row by the one formula of row.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gqa/attention/contract.hpp"
#include "gqa/attention/dimensions.hpp"
#include "gqa/attention/numbers.hpp"
#include "gqa/attention/row.hpp"
#include "gqa/attention/tensor.hpp"
#include "gqa/attention/visibility.hpp"

namespace gqa {

/// A whole problem: tensors in BHSD order, heads shared as the contract says.
template <class N>
struct Problem {
  Contract contract;
  Tensor<typename N::Query> query;                        ///< [B, Hq, T, dk], unless strengths
  Tensor<typename N::Key> key;                            ///< [B, Hkv, S, dk], unless strengths
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
  Tensor<typename N::Strength> weights;  ///< [B, Hq, T, S], if wanted
  std::vector<char> empty;               ///< [B * Hq * T]: 1 where no key is visible
};

/// Sizes of a problem, checked.
/// Errors: those of resolve_dimensions; "contract.shape_mismatch" at "strengths", "bias" or
/// "score_shift".
template <class N>
Dimensions dimensions_of(const Problem<N>& problem, const Shape& value) {
  ProblemShapes shapes;
  shapes.value = value;
  if (problem.strengths) {
    // Stipulated strengths stand for some query and key of one coordinate.
    shapes.query = problem.strengths->shape();
    shapes.query.back() = 1;
    shapes.key = value;
    shapes.key.back() = 1;
  } else {
    shapes.query = problem.query.shape();
    shapes.key = problem.key.shape();
  }
  if (problem.mask) shapes.attn_mask = problem.mask->shape();
  if (problem.sink) shapes.sink = Shape{static_cast<std::int64_t>(problem.sink->size())};
  const Dimensions d = resolve_dimensions(shapes);
  const auto require = [&d](const auto& tensor, std::int64_t last, const char* name) {
    const Shape expected{d.batch, d.q_heads, d.queries, last};
    if (!tensor || tensor->shape() == expected) return;
    throw InputError(
        "contract.shape_mismatch", name,
        "shape " + to_text(tensor->shape()) + " does not fit; expected " + to_text(expected));
  };
  require(problem.strengths, d.keys, "strengths");
  require(problem.bias, d.keys, "bias");
  require(problem.score_shift, 1, "score_shift");
  return d;
}

template <class N>
Dimensions dimensions_of(const Problem<N>& problem) {
  return dimensions_of(problem, problem.value.shape());
}

/// The values of every batch entry and KV head, prepared once for any number of passes.
template <class N>
class ValueHistories {
 public:
  /// Keeps references into `value` [B, Hkv, S, dv] where N has nothing to prepare.
  explicit ValueHistories(const Tensor<typename N::Value>& value) : shape_(value.shape()) {
    if (shape_.size() != 4) return;  // resolve_dimensions refuses it
    const auto rows = static_cast<std::size_t>(shape_[2]);
    const auto columns = static_cast<std::size_t>(shape_[3]);
    const std::span<const typename N::Value> all(value.data());
    for (std::int64_t i = 0; i < shape_[0] * shape_[1]; ++i) {
      histories_.emplace_back(
          all.subspan(static_cast<std::size_t>(i) * rows * columns, rows * columns), rows, columns);
    }
  }

  /// [B, Hkv, S, dv]
  const Shape& shape() const { return shape_; }
  const typename N::Values& at(std::int64_t batch, std::int64_t kv_head) const {
    return histories_[static_cast<std::size_t>(batch * shape_[1] + kv_head)];
  }
  /// Every query head's own copy of the history that the map gives it.
  ValueHistories expanded(const std::vector<std::int64_t>& head_map) const {
    ValueHistories result;
    result.shape_ = shape_;
    result.shape_[1] = static_cast<std::int64_t>(head_map.size());
    for (std::int64_t b = 0; b < shape_[0]; ++b) {
      for (const std::int64_t kv_head : head_map) result.histories_.push_back(at(b, kv_head));
    }
    return result;
  }

 private:
  ValueHistories() = default;

  Shape shape_;
  std::vector<typename N::Values> histories_;
};

/// Attention of the query heads of one batch entry on one KV head, row by row.
template <class N>
class HeadReader {
 public:
  HeadReader(const Problem<N>& problem, const Dimensions& d, const Visibility& visibility,
             std::int64_t batch, std::int64_t kv_head, const typename N::Values& values)
      : problem_(problem),
        d_(d),
        visibility_(visibility),
        batch_(batch),
        key_(problem.strengths ? MatrixView<const typename N::Key>()
                               : problem.key.matrix(batch, kv_head)),
        values_(values) {}

  void row(std::int64_t head, std::int64_t i, RowResult<N>& result) const {
    const auto at = static_cast<std::size_t>(i);
    const std::vector<std::size_t> visible = visibility_.keys_of(batch_, head, i);
    RowOperands<N> row;
    row.key = key_;
    row.values = &values_;
    row.visible = visible;
    if (!problem_.strengths) row.query = problem_.query.matrix(batch_, head).row(at);
    if (problem_.scale) row.scale = &*problem_.scale;
    if (problem_.softcap) row.softcap = &*problem_.softcap;
    if (problem_.strengths) row.strengths = problem_.strengths->matrix(batch_, head).row(at);
    if (problem_.bias) row.bias = problem_.bias->matrix(batch_, head).row(at);
    if (problem_.score_shift) row.shift = &problem_.score_shift->matrix(batch_, head)(at, 0);
    if (problem_.sink) row.sink = &(*problem_.sink)[static_cast<std::size_t>(head)];
    attend_row(row, static_cast<std::size_t>(d_.keys), result);
  }

 private:
  const Problem<N>& problem_;
  const Dimensions& d_;
  const Visibility& visibility_;
  std::int64_t batch_;
  MatrixView<const typename N::Key> key_;
  const typename N::Values& values_;
};

/// Grouped attention over all batch entries, query heads and rows, on values that were
/// prepared before (`problem.value` is not read).
template <class N>
AttentionResult<N> attention(const Problem<N>& problem, const ValueHistories<N>& values,
                             Wanted wanted) {
  validate(problem.contract);
  const Dimensions d = dimensions_of(problem, values.shape());
  const auto head_map = resolve_head_map(problem.contract.head_map, d.q_heads, d.kv_heads);
  const Visibility visibility(problem.contract, d, problem.lengths, problem.mask);
  AttentionResult<N> result;
  result.output = Tensor<typename N::Value>({d.batch, d.q_heads, d.queries, d.value_size});
  if (wanted == Wanted::output_and_weights) {
    result.weights = Tensor<typename N::Strength>({d.batch, d.q_heads, d.queries, d.keys});
  }
  for (std::int64_t b = 0; b < d.batch; ++b) {
    for (std::int64_t h = 0; h < d.q_heads; ++h) {
      const std::int64_t kv_head = head_map[static_cast<std::size_t>(h)];
      const HeadReader<N> reader(problem, d, visibility, b, kv_head, values.at(b, kv_head));
      for (std::int64_t i = 0; i < d.queries; ++i) {
        const auto at = static_cast<std::size_t>(i);
        RowResult<N> row;
        row.output = result.output.matrix(b, h).row(at);
        if (wanted == Wanted::output_and_weights) {
          row.weights = result.weights.matrix(b, h).row(at);
        }
        reader.row(h, i, row);
        result.empty.push_back(row.empty ? 1 : 0);
      }
    }
  }
  return result;
}

/// Grouped attention over all batch entries, query heads and rows.
///
/// Result: exact in ExactNumbers; an enclosure in BallNumbers; otherwise rounded as the
/// type rounds. Empty rows are zero and marked; the policy is the caller's to apply.
/// Errors: InputError from the contract, the shapes, and ExactNumbers.
template <class N>
AttentionResult<N> attention(const Problem<N>& problem,
                             Wanted wanted = Wanted::output_and_weights) {
  return attention(problem, ValueHistories<N>(problem.value), wanted);
}

/// Every query head's own copy of the history that the map gives it: the expansion
/// [B, Hkv, S, x] -> [B, Hq, S, x] that turns grouped attention into MHA.
/// PyTorch: repeat_interleave(Hq/Hkv, dim=1) for the contiguous map.
template <class T>
Tensor<T> expand_heads(const Tensor<T>& histories, const std::vector<std::int64_t>& head_map) {
  Shape shape = histories.shape();
  shape[1] = static_cast<std::int64_t>(head_map.size());
  std::vector<T> data;
  data.reserve(static_cast<std::size_t>(element_count(shape)));
  for (std::int64_t b = 0; b < shape[0]; ++b) {
    for (const std::int64_t kv_head : head_map) {
      const auto history = histories.matrix(b, kv_head);
      for (std::size_t r = 0; r < history.rows(); ++r) {
        data.insert(data.end(), history.row(r).begin(), history.row(r).end());
      }
    }
  }
  return Tensor<T>(std::move(shape), std::move(data));
}

}  // namespace gqa
