#include "gqa/attention/tensor.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "support/errors.hpp"

using namespace gqa;

namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

std::string count_refusal(const Shape& shape, const std::string& where) {
  return test::refusal_of([&] { element_count(shape, where); });
}

}  // namespace

TEST_CASE("tensor: the element count is the product of the extents") {
  CHECK(element_count({}) == 1);
  CHECK(element_count({7}) == 7);
  CHECK(element_count({2, 3, 5, 7}) == 210);
  CHECK(element_count({std::int64_t{1} << 31, std::int64_t{1} << 31}) == std::int64_t{1} << 62);
}

TEST_CASE("tensor: a zero extent makes the count zero, whatever the others are") {
  CHECK(element_count({0}) == 0);
  CHECK(element_count({largest, largest, 0}) == 0);
  CHECK(element_count({0, largest, largest}) == 0);
}

TEST_CASE("tensor: a count beyond 2^62 is refused without overflow") {
  for (const Shape& shape : {Shape{(std::int64_t{1} << 62) + 1},
                             Shape{std::int64_t{1} << 31, (std::int64_t{1} << 31) + 1},
                             Shape{largest}, Shape{largest, largest, largest}}) {
    CAPTURE(to_text(shape));
    CHECK(count_refusal(shape, "query") == "tensor.too_large at query");
  }
}

TEST_CASE("tensor: a negative extent is refused, even beside a zero") {
  for (const Shape& shape : {Shape{-1}, Shape{0, -3}, Shape{-3, 0}, Shape{-2, -2}}) {
    CAPTURE(to_text(shape));
    CHECK(count_refusal(shape, "key") == "tensor.negative_extent at key");
  }
}

TEST_CASE("tensor: a shape prints as a list") {
  CHECK(to_text(Shape{}) == "[]");
  CHECK(to_text(Shape{2, 8, 16, 64}) == "[2, 8, 16, 64]");
}

TEST_CASE("tensor: a matrix of a rank-4 tensor is the row-major window at its outer indices") {
  Tensor<int> tensor({2, 3, 4, 5});
  for (std::size_t i = 0; i < tensor.size(); ++i) tensor.data()[i] = static_cast<int>(i);
  const MatrixView<int> matrix = tensor.matrix(1, 2);
  REQUIRE(matrix.rows() == 4);
  REQUIRE(matrix.columns() == 5);
  CHECK(matrix(0, 0) == 1 * 60 + 2 * 20);
  CHECK(matrix(3, 4) == 119);
  CHECK(matrix.row(1)[2] == 107);
  matrix(3, 4) = -1;
  CHECK(tensor.data().back() == -1);
}

TEST_CASE("tensor: filled tensors compare by shape and elements") {
  CHECK(Tensor<int>({2, 2}, 3) == Tensor<int>({2, 2}, std::vector<int>{3, 3, 3, 3}));
  CHECK_FALSE(Tensor<int>({4}, 3) == Tensor<int>({2, 2}, 3));
  CHECK_FALSE(Tensor<int>({2}, 3) == Tensor<int>({2}, 4));
  CHECK(Tensor<int>({0, 4}).empty());
}

TEST_CASE("tensor: rows of a strided view skip what lies between them") {
  std::vector<int> storage{1, 2, 9, 3, 4, 9};
  const MatrixView<int> view(storage.data(), 2, 2, 3);
  CHECK(view(1, 0) == 3);
  CHECK(view(1, 1) == 4);
}
