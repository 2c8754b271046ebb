// A tensor seen in BHSD order, wherever its axes are in memory.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "gqa/attention/contract.hpp"
#include "gqa/attention/typed_tensor.hpp"

namespace gqa {

/// How many axes a tensor of that layout has.
std::size_t axis_count(Layout layout);

/// A floating-point tensor of [B, H, S, D] elements, read in place through strides.
///
/// Nothing is copied or decoded until rows are read, so that an audit's memory does not
/// grow with its inputs.
class StridedTensor {
 public:
  StridedTensor() = default;
  /// A BHSD view of `tensor`, whose axes lie as `layout` says. `heads` is needed by folded
  /// layouts and otherwise 0. Layout thd is one batch entry: see cut_documents.
  ///
  /// Errors: InputError at `where` with code "contract.shape_rank",
  /// "contract.layout_heads" (no head count), "contract.layout_width" (the last axis is
  /// not a multiple of the heads), "contract.element_type" (not floating point).
  StridedTensor(std::shared_ptr<const TypedTensor> tensor, Layout layout, std::int64_t heads,
                const std::string& where);

  /// [B, H, S, D]
  const Shape& shape() const { return shape_; }
  ElementType type() const { return tensor_->type; }
  const FloatFormat& format() const { return *float_format(tensor_->type); }

  /// Elements from one index to the next on each axis of BHSD.
  const std::array<std::int64_t, 4>& strides() const { return strides_; }

  /// Index into the raw tensor of element [b, h, s, d].
  std::size_t index(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) const {
    return static_cast<std::size_t>(b * strides_[0] + h * strides_[1] + s * strides_[2] +
                                    d * strides_[3]);
  }
  /// Exact value, and raw bits, of one element.
  double value(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) const {
    return decode(format(), bits(b, h, s, d));
  }
  std::uint64_t bits(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) const {
    return tensor_->bits(index(b, h, s, d));
  }
  /// Decodes rows [begin, end) of head h into `to`, row-major with `row_stride` >= D.
  void read_rows(std::int64_t b, std::int64_t h, std::int64_t begin, std::int64_t end, double* to,
                 std::size_t row_stride) const;

 private:
  std::shared_ptr<const TypedTensor> tensor_;
  Shape shape_;
  std::array<std::int64_t, 4> strides_{};
};

/// A KV history: past rows, if any, followed by new ones along the key axis.
class History {
 public:
  History() = default;
  explicit History(StridedTensor current) : current_(std::move(current)) {}
  History(StridedTensor past, StridedTensor current)
      : past_rows_(past.shape()[2]), past_(std::move(past)), current_(std::move(current)) {}

  std::int64_t rows() const { return past_rows_ + current_.shape()[2]; }
  std::int64_t width() const { return current_.shape()[3]; }
  const StridedTensor& current() const { return current_; }
  /// The past rows, or null if there are none.
  const StridedTensor* past() const { return past_rows_ > 0 ? &past_ : nullptr; }
  double value(std::int64_t b, std::int64_t h, std::int64_t row, std::int64_t d) const {
    return row < past_rows_ ? past_.value(b, h, row, d) : current_.value(b, h, row - past_rows_, d);
  }
  std::uint64_t bits(std::int64_t b, std::int64_t h, std::int64_t row, std::int64_t d) const {
    return row < past_rows_ ? past_.bits(b, h, row, d) : current_.bits(b, h, row - past_rows_, d);
  }
  void read_rows(std::int64_t b, std::int64_t h, std::int64_t begin, std::int64_t end, double* to,
                 std::size_t row_stride) const;

 private:
  std::int64_t past_rows_ = 0;
  StridedTensor past_;
  StridedTensor current_;
};

}  // namespace gqa
