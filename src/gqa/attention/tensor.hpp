// Dense tensors of any number type, row-major, last axis contiguous.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gqa {

/// Extents of the axes, outermost first. Every extent is >= 0.
using Shape = std::vector<std::int64_t>;

/// "[2, 8, 16, 64]".
std::string to_text(const Shape& shape);

/// The number of elements of a shape.
/// Errors: InputError "tensor.too_large" if it does not fit in 2^62,
/// "tensor.negative_extent".
std::int64_t element_count(const Shape& shape, const std::string& where = "tensor");

/// A rows x columns window into contiguous storage; rows may be strided.
template <class T>
class MatrixView {
 public:
  MatrixView() = default;
  MatrixView(T* data, std::size_t rows, std::size_t columns, std::size_t row_stride)
      : data_(data), rows_(rows), columns_(columns), row_stride_(row_stride) {}
  MatrixView(T* data, std::size_t rows, std::size_t columns)
      : MatrixView(data, rows, columns, columns) {}

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  std::span<T> row(std::size_t r) const { return {data_ + r * row_stride_, columns_}; }
  T& operator()(std::size_t r, std::size_t c) const { return data_[r * row_stride_ + c]; }

 private:
  T* data_ = nullptr;
  std::size_t rows_ = 0;
  std::size_t columns_ = 0;
  std::size_t row_stride_ = 0;
};

/// A row-major tensor that owns its elements.
template <class T>
class Tensor {
 public:
  Tensor() = default;
  /// Zeros.
  explicit Tensor(Shape shape)
      : shape_(std::move(shape)), data_(static_cast<std::size_t>(element_count(shape_))) {}
  Tensor(Shape shape, const T& fill)
      : shape_(std::move(shape)), data_(static_cast<std::size_t>(element_count(shape_)), fill) {}
  /// Precondition: data.size() == element_count(shape).
  Tensor(Shape shape, std::vector<T> data) : shape_(std::move(shape)), data_(std::move(data)) {}

  const Shape& shape() const { return shape_; }
  std::int64_t extent(std::size_t axis) const { return shape_[axis]; }
  std::size_t size() const { return data_.size(); }
  bool empty() const { return data_.empty(); }
  std::vector<T>& data() { return data_; }
  const std::vector<T>& data() const { return data_; }

  /// The [second-last, last] matrix at [outer, inner] of a rank-4 tensor.
  /// Precondition: rank 4, indices in range.
  MatrixView<T> matrix(std::int64_t outer, std::int64_t inner) {
    return {data_.data() + offset(outer, inner), rows(), columns()};
  }
  MatrixView<const T> matrix(std::int64_t outer, std::int64_t inner) const {
    return {data_.data() + offset(outer, inner), rows(), columns()};
  }

  friend bool operator==(const Tensor&, const Tensor&) = default;

 private:
  std::size_t rows() const { return static_cast<std::size_t>(shape_[2]); }
  std::size_t columns() const { return static_cast<std::size_t>(shape_[3]); }
  std::size_t offset(std::int64_t outer, std::int64_t inner) const {
    return static_cast<std::size_t>(outer * shape_[1] + inner) * rows() * columns();
  }

  Shape shape_;
  std::vector<T> data_;
};

}  // namespace gqa
