#include "gqa/attention/strided_tensor.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <tuple>

#include "support/errors.hpp"
#include "support/typed.hpp"

using namespace gqa;
using gqa::test::counting;
using gqa::test::refusal_of;

namespace {

// Where element [b, h, s, d] of B=2, H=3, S=4, D=5 lies, by the layout's own words.
std::int64_t place(Layout layout, std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
  switch (layout) {
    case Layout::bhsd:
      return ((b * 3 + h) * 4 + s) * 5 + d;
    case Layout::bshd:
    case Layout::bsh:
      return ((b * 4 + s) * 3 + h) * 5 + d;
    case Layout::sbhd:
      return ((s * 2 + b) * 3 + h) * 5 + d;
    case Layout::thd:
      return (s * 3 + h) * 5 + d;
    case Layout::hsd:
      return (h * 4 + s) * 5 + d;
  }
  return -1;
}

}  // namespace

TEST_CASE("strided_tensor: every layout shows the same elements in BHSD order") {
  const std::tuple<Layout, Shape, std::int64_t> cases[] = {
      {Layout::bhsd, {2, 3, 4, 5}, 0}, {Layout::bshd, {2, 4, 3, 5}, 0},
      {Layout::sbhd, {4, 2, 3, 5}, 0}, {Layout::bsh, {2, 4, 15}, 3},
      {Layout::thd, {4, 3, 5}, 0},     {Layout::hsd, {3, 4, 5}, 0}};
  for (const auto& [layout, shape, heads] : cases) {
    const StridedTensor view(counting(ElementType::binary32, shape), layout, heads, "query");
    CAPTURE(name(layout));
    const std::int64_t batch = shape.size() == 3 && heads == 0 ? 1 : 2;
    REQUIRE(view.shape() == Shape{batch, 3, 4, 5});
    for (std::int64_t b = 0; b < batch; ++b) {
      for (std::int64_t h = 0; h < 3; ++h) {
        for (std::int64_t s = 0; s < 4; ++s) {
          for (std::int64_t d = 0; d < 5; ++d) {
            CHECK(view.value(b, h, s, d) == static_cast<double>(place(layout, b, h, s, d)));
          }
        }
      }
    }
  }
}

TEST_CASE("strided_tensor: rows are read as the elements one by one, in every element type") {
  for (const ElementType type : {ElementType::binary64, ElementType::binary32,
                                 ElementType::binary16, ElementType::bfloat16}) {
    CAPTURE(name(type));
    const StridedTensor view(counting(type, {1, 4, 3, 5}), Layout::bshd, 0, "key");
    std::vector<double> rows(3 * 7, -1.0);
    view.read_rows(0, 2, 1, 4, rows.data(), 7);
    for (std::size_t s = 0; s < 3; ++s) {
      for (std::size_t d = 0; d < 5; ++d) {
        CHECK(rows[s * 7 + d] ==
              view.value(0, 2, static_cast<std::int64_t>(s) + 1, static_cast<std::int64_t>(d)));
      }
      CHECK(rows[s * 7 + 5] == -1.0);  // nothing is written between rows
    }
  }
}

TEST_CASE("strided_tensor: what a layout cannot hold is refused at the tensor's name") {
  const auto refusal = [](ElementType type, Shape shape, Layout layout, std::int64_t heads) {
    const auto tensor = std::make_shared<TypedTensor>(TypedTensor{type, std::move(shape), {}});
    return refusal_of([&] { StridedTensor(tensor, layout, heads, "value"); });
  };
  const auto f32 = ElementType::binary32;
  for (const Layout layout : {Layout::bhsd, Layout::bshd, Layout::sbhd}) {
    CHECK(refusal(f32, {1, 2, 3}, layout, 0) == "contract.shape_rank at value");
    CHECK(refusal(f32, {}, layout, 0) == "contract.shape_rank at value");
  }
  CHECK(refusal(f32, {1, 2, 3, 4}, Layout::bsh, 2) == "contract.shape_rank at value");
  CHECK(refusal(f32, {1, 2, 3, 4}, Layout::thd, 0) == "contract.shape_rank at value");
  CHECK(refusal(f32, {1, 2, 6}, Layout::bsh, 0) == "contract.layout_heads at value");
  CHECK(refusal(f32, {1, 2, 6}, Layout::bsh, -2) == "contract.layout_heads at value");
  CHECK(refusal(f32, {1, 2, 6}, Layout::bsh, 4) == "contract.layout_width at value");
  for (const ElementType type : {ElementType::boolean, ElementType::int8, ElementType::uint8,
                                 ElementType::int32, ElementType::int64}) {
    CAPTURE(name(type));
    CHECK(refusal(type, {1, 2, 3, 4}, Layout::bhsd, 0) == "contract.element_type at value");
  }
}

TEST_CASE("history: past rows come first, wherever a read starts and ends") {
  const History history(
      StridedTensor(counting(ElementType::binary32, {1, 2, 3, 2}), Layout::bhsd, 0, "past_key"),
      StridedTensor(counting(ElementType::binary32, {1, 2, 2, 2}), Layout::bshd, 0, "key"));
  CHECK(history.rows() == 5);
  CHECK(history.width() == 2);
  // Head 1: past rows start at 6; new rows are [S, H, D], so head 1 starts at 2, step 4.
  const std::vector<double> expected{6, 7, 8, 9, 10, 11, 2, 3, 6, 7};
  for (std::int64_t begin = 0; begin <= 5; ++begin) {
    for (std::int64_t end = begin; end <= 5; ++end) {
      std::vector<double> rows(static_cast<std::size_t>(2 * (end - begin)));
      history.read_rows(0, 1, begin, end, rows.data(), 2);
      CAPTURE(begin);
      CAPTURE(end);
      CHECK(rows == std::vector<double>(expected.begin() + 2 * begin, expected.begin() + 2 * end));
    }
  }
  for (std::int64_t row = 0; row < 5; ++row) {
    CHECK(history.value(0, 1, row, 1) == expected[static_cast<std::size_t>(2 * row + 1)]);
    CHECK(decode(binary32, history.bits(0, 1, row, 0)) ==
          expected[static_cast<std::size_t>(2 * row)]);
  }
}
