// Operands as an implementation walks them in memory, rightly or wrongly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "gqa/attention/contract.hpp"
#include "gqa/attention/typed_tensor.hpp"

namespace gqa {

/// The exact values of a tensor in the order of its memory.
using FlatValues = std::shared_ptr<const std::vector<double>>;

/// Where the rows of one head lie in a flat buffer, in elements.
struct HeadRows {
  FlatValues data;
  std::int64_t offset = 0;  ///< of batch 0, row 0, column 0
  std::int64_t batch_stride = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;

  /// Index into data; may lie outside it where a walk is wrong.
  std::int64_t index(std::int64_t batch, std::int64_t row, std::int64_t column) const {
    return offset + batch * batch_stride + row * row_stride + column * column_stride;
  }
};

class OperandView;

/// One row of an operand: straight from memory where it lies there in one piece.
class OperandRow {
 public:
  OperandRow(const OperandView& view, std::int64_t b, std::int64_t h, std::int64_t s);
  double operator[](std::int64_t d) const;
  /// The row in memory where it lies there in one piece, or null.
  const double* direct() const { return direct_; }

 private:
  const double* direct_ = nullptr;
  const OperandView* view_;
  std::int64_t b_;
  std::int64_t h_;
  std::int64_t s_;
};

/// A [B, H, S, D] operand, head by head. Reads outside the buffer give zero: what is there
/// is nobody's, and no explanation rests on it.
class OperandView {
 public:
  std::int64_t batch = 0;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  std::int64_t row_divisor = 1;  ///< row s is row floor(s / divisor) of memory
  std::vector<HeadRows> heads;

  std::int64_t head_count() const { return static_cast<std::int64_t>(heads.size()); }
  std::int64_t row_count() const { return rows * row_divisor; }
  double at(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) const {
    const HeadRows& head = heads[static_cast<std::size_t>(h)];
    const std::int64_t index = head.index(b, s / row_divisor, d);
    const bool inside = index >= 0 && index < static_cast<std::int64_t>(head.data->size());
    return inside ? (*head.data)[static_cast<std::size_t>(index)] : 0;
  }
};

inline OperandRow::OperandRow(const OperandView& view, std::int64_t b, std::int64_t h,
                              std::int64_t s)
    : view_(&view), b_(b), h_(h), s_(s) {
  const HeadRows& head = view.heads[static_cast<std::size_t>(h)];
  const std::int64_t first = head.index(b, s / view.row_divisor, 0);
  const auto size = static_cast<std::int64_t>(head.data->size());
  if (head.column_stride == 1 && first >= 0 && first + view.width <= size) {
    direct_ = head.data->data() + first;
  }
}

inline double OperandRow::operator[](std::int64_t d) const {
  return direct_ != nullptr ? direct_[d] : view_->at(b_, h_, s_, d);
}

/// The right walk of a tensor whose axes lie as `layout` says; `heads` for folded layouts.
/// Errors: those of decode; InputError "contract.shape_rank", "contract.layout_heads",
/// "contract.layout_width" at `where`.
OperandView view_of(const std::shared_ptr<const TypedTensor>& tensor, Layout layout,
                    std::int64_t heads, const std::string& where);

/// The same walk of values that are decoded already.
OperandView view_of(const std::shared_ptr<const TypedTensor>& tensor, Layout layout,
                    std::int64_t heads, const std::string& where, FlatValues values);

}  // namespace gqa
