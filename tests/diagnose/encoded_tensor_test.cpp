// Typed tensors from numbers: what does not fit is refused.
#include "gqa/attention/encoded_tensor.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>

#include "support/errors.hpp"

using namespace gqa;

TEST_CASE("encoded_tensor: numbers become the bits of their type") {
  // IEEE 754: binary16 1.5 is 0x3e00, -2 is 0xc000; bfloat16 1.5 is 0x3fc0, -2 is 0xc000.
  const std::array values{1.5, -2.0};
  const auto half = encoded_tensor(ElementType::binary16, {1, 2}, values);
  CHECK(half->shape == Shape{1, 2});
  CHECK(half->bits(0) == 0x3e00);
  CHECK(half->bits(1) == 0xc000);
  const auto brain = encoded_tensor(ElementType::bfloat16, {2}, values);
  CHECK(brain->bits(0) == 0x3fc0);
  CHECK(brain->bits(1) == 0xc000);
}

TEST_CASE("encoded_tensor: NaN and infinities are kept where the type has them") {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::array values{std::numeric_limits<double>::quiet_NaN(), -infinity};
  const auto decoded = decode(*encoded_tensor(ElementType::binary16, {2}, values), "t").data();
  CHECK(std::isnan(decoded[0]));
  CHECK(decoded[1] == -infinity);
  CHECK(test::refusal_of([&] { encoded_tensor(ElementType::float8_e4m3fn, {2}, values); }) ==
        "tensor.not_representable at tensor");
}

TEST_CASE("encoded_tensor: a number that the type has not is refused, as are wrong counts") {
  const std::array<double, 1> third{1.0 / 3};
  const std::array<double, 1> large{65536};
  for (const auto& [type, values] :
       {std::pair{ElementType::binary32, third}, std::pair{ElementType::binary16, large},
        std::pair{ElementType::bfloat16, third}}) {
    CAPTURE(name(type));
    CHECK(test::refusal_of([&, t = type, v = values] { encoded_tensor(t, {1}, v); }) ==
          "tensor.not_representable at tensor");
  }
  CHECK(test::refusal_of([&] { encoded_tensor(ElementType::binary64, {2}, third); }) ==
        "tensor.size_mismatch at tensor");
  CHECK(test::refusal_of([&] { encoded_tensor(ElementType::int64, {1}, large); }) ==
        "tensor.not_floating_point at tensor");
  CHECK(test::refusal_of([&] { encoded_tensor(ElementType::boolean, {1}, large); }) ==
        "tensor.not_floating_point at tensor");
}

TEST_CASE("integer_tensor, boolean_tensor: elements as given, counts checked") {
  const std::array<std::int64_t, 2> integers{-3, std::int64_t{1} << 40};
  const auto tensor = integer_tensor({2}, integers);
  CHECK(tensor->type == ElementType::int64);
  CHECK(decode_integers(*tensor, "t").data() ==
        std::vector<std::int64_t>{-3, std::int64_t{1} << 40});
  CHECK(test::refusal_of([&] { integer_tensor({3}, integers); }) ==
        "tensor.size_mismatch at tensor");
  const std::array<char, 3> flags{1, 0, 1};
  const auto mask = boolean_tensor({3, 1}, flags);
  CHECK(mask->type == ElementType::boolean);
  CHECK(mask->bits(0) == 1);
  CHECK(mask->bits(1) == 0);
  CHECK(test::refusal_of([&] { boolean_tensor({2}, flags); }) == "tensor.size_mismatch at tensor");
}
