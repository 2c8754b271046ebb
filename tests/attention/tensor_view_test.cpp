#include "gqa/attention/tensor_view.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstring>

#include "gqa/attention/typed_tensor.hpp"
#include "gqa/error.hpp"
#include "support/errors.hpp"
#include "support/random.hpp"

using namespace gqa;

namespace {

InputError refusal(const TensorView& view) {
  return test::error_of([&] { copied_tensor(view, "there"); });
}

}  // namespace

TEST_CASE("tensor_view: without strides the elements are row-major") {
  const std::array<float, 6> elements{0, 1, 2, 3, 4, 5};
  const auto tensor = copied_tensor({elements.data(), {2, 3}}, "there");
  CHECK(tensor->type == ElementType::binary32);
  CHECK(tensor->shape == Shape{2, 3});
  REQUIRE(tensor->bytes.size() == sizeof elements);
  CHECK(std::memcmp(tensor->bytes.data(), elements.data(), sizeof elements) == 0);
}

TEST_CASE("tensor_view: every element of a random view is the one that its strides say") {
  for (const std::uint64_t seed : test::seeds(200)) {
    CAPTURE(seed);
    test::Random random(seed);
    std::vector<std::int64_t> memory(400);
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::int64_t>(i);
    TensorView view(memory.data() + 200, TensorView::Extents());
    const auto rank = static_cast<std::size_t>(random.integer(1, 4));
    for (std::size_t axis = 0; axis < rank; ++axis) {
      view.shape.push_back(random.integer(1, 4));
      view.strides.push_back(random.integer(-15, 15));
    }
    CAPTURE(to_text(view.shape));
    CAPTURE(to_text(view.strides));
    const Tensor<std::int64_t> copy = decode_integers(*copied_tensor(view, "there"));
    REQUIRE(copy.shape() == view.shape);
    for (std::size_t flat = 0; flat < copy.size(); ++flat) {
      // The multi-index by division, the place by the definition of a stride.
      auto rest = static_cast<std::int64_t>(flat);
      std::int64_t place = 200;
      for (std::size_t axis = rank; axis-- > 0;) {
        place += rest % view.shape[axis] * view.strides[axis];
        rest /= view.shape[axis];
      }
      REQUIRE(copy.data()[flat] == place);
    }
  }
}

TEST_CASE("tensor_view: empty tensors need no memory, and no axes mean one element") {
  const auto empty =
      copied_tensor({static_cast<const void*>(nullptr), ElementType::bfloat16, {3, 0}}, "there");
  CHECK(empty->shape == Shape{3, 0});
  CHECK(empty->bytes.empty());
  const double number = 7;
  CHECK(decode(*copied_tensor({&number, {}}, "there")).data() == std::vector<double>{7});
}

TEST_CASE("tensor_view: what cannot be read is refused at its name") {
  const float element = 0;
  const struct {
    TensorView view;
    const char* code;
  } cases[] = {
      {{static_cast<const float*>(nullptr), {2}}, "tensor.no_data"},
      {{&element, {1, 1}, {1}}, "tensor.strides_rank"},
      {{&element, {-1}}, "tensor.negative_extent"},
      {{&element, {std::int64_t{1} << 40, std::int64_t{1} << 40}}, "tensor.too_large"},
  };
  for (const auto& wrong : cases) {
    const InputError error = refusal(wrong.view);
    CHECK(error.code() == wrong.code);
    CHECK(error.where() == "there");
  }
}
