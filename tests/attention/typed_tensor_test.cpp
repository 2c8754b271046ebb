#include "gqa/attention/typed_tensor.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>
#include <limits>

#include "support/errors.hpp"

using namespace gqa;
using gqa::test::error_of;

namespace {

// A tensor of one axis from bytes written out by hand.
TypedTensor from_bytes(ElementType type, std::int64_t count, std::initializer_list<int> bytes) {
  TypedTensor tensor{type, {count}, {}};
  for (const int byte : bytes) tensor.bytes.push_back(static_cast<std::byte>(byte));
  return tensor;
}

using Integers = std::vector<std::int64_t>;
using Doubles = std::vector<double>;

}  // namespace

TEST_CASE("typed tensor: every element type has its name, size and format") {
  struct Expected {
    ElementType type;
    const char* name;
    std::size_t size;
    const FloatFormat* format;
  };
  for (const Expected& expected : {
           Expected{ElementType::binary64, "binary64", 8, &binary64},
           Expected{ElementType::binary32, "binary32", 4, &binary32},
           Expected{ElementType::binary16, "binary16", 2, &binary16},
           Expected{ElementType::bfloat16, "bfloat16", 2, &bfloat16},
           Expected{ElementType::float8_e4m3fn, "float8_e4m3fn", 1, &float8_e4m3fn},
           Expected{ElementType::float8_e5m2, "float8_e5m2", 1, &float8_e5m2},
           Expected{ElementType::boolean, "bool", 1, nullptr},
           Expected{ElementType::int8, "int8", 1, nullptr},
           Expected{ElementType::uint8, "uint8", 1, nullptr},
           Expected{ElementType::int32, "int32", 4, nullptr},
           Expected{ElementType::int64, "int64", 8, nullptr},
       }) {
    CAPTURE(expected.name);
    CHECK(name(expected.type) == expected.name);
    CHECK(element_size(expected.type) == expected.size);
    CHECK(float_format(expected.type) == expected.format);
  }
}

TEST_CASE("typed tensor: bytes are little-endian in every floating-point type") {
  CHECK(decode(from_bytes(ElementType::binary64, 1, {0, 0, 0, 0, 0, 0, 0xf8, 0xbf})).data() ==
        Doubles{-1.5});
  CHECK(decode(from_bytes(ElementType::binary32, 2, {0, 0, 0xc0, 0x3f, 1, 0, 0, 0})).data() ==
        Doubles{1.5, 0x1p-149});
  CHECK(decode(from_bytes(ElementType::binary16, 2, {0x00, 0x3e, 0xff, 0x7b})).data() ==
        Doubles{1.5, 65504.0});
  CHECK(decode(from_bytes(ElementType::bfloat16, 2, {0xc0, 0x3f, 0x00, 0xc0})).data() ==
        Doubles{1.5, -2.0});
  CHECK(decode(from_bytes(ElementType::float8_e4m3fn, 2, {0x3c, 0xfe})).data() ==
        Doubles{1.5, -448.0});
  CHECK(decode(from_bytes(ElementType::float8_e5m2, 2, {0x3e, 0x7b})).data() ==
        Doubles{1.5, 57344.0});
}

TEST_CASE("typed tensor: NaN, infinities and the sign of zero survive decoding") {
  const Tensor<double> values =
      decode(from_bytes(ElementType::binary16, 4, {0, 0x7e, 0, 0x7c, 0, 0xfc, 0, 0x80}));
  CHECK(std::isnan(values.data()[0]));
  CHECK(values.data()[1] == INFINITY);
  CHECK(values.data()[2] == -INFINITY);
  CHECK(values.data()[3] == 0.0);
  CHECK(std::signbit(values.data()[3]));
  CHECK(std::isnan(decode(from_bytes(ElementType::float8_e4m3fn, 1, {0xff})).data()[0]));
  CHECK(std::isnan(decode(from_bytes(ElementType::binary32, 1, {0, 0, 0xc0, 0x7f})).data()[0]));
}

TEST_CASE("typed tensor: integers keep their sign and a boolean is 0 or 1") {
  CHECK(decode_integers(from_bytes(ElementType::int8, 3, {0x7f, 0x80, 0xff})).data() ==
        Integers{127, -128, -1});
  CHECK(decode_integers(from_bytes(ElementType::uint8, 2, {0x80, 0xff})).data() ==
        Integers{128, 255});
  CHECK(decode_integers(from_bytes(ElementType::int32, 1, {0xfe, 0xff, 0xff, 0xff})).data() ==
        Integers{-2});
  CHECK(decode_integers(from_bytes(ElementType::int64, 1, {0, 0, 0, 0, 0, 0, 0, 0x80})).data() ==
        Integers{std::numeric_limits<std::int64_t>::min()});
  CHECK(decode_integers(from_bytes(ElementType::boolean, 4, {0, 1, 2, 0xff})).data() ==
        Integers{0, 1, 1, 1});
}

TEST_CASE("typed tensor: bits are zero-extended") {
  CHECK(from_bytes(ElementType::int8, 2, {0, 0xff}).bits(1) == 0xff);
  CHECK(from_bytes(ElementType::bfloat16, 2, {1, 2, 3, 0x84}).bits(1) == 0x8403);
  CHECK(from_bytes(ElementType::int64, 1, {1, 2, 3, 4, 5, 6, 7, 0x88}).bits(0) ==
        0x8807060504030201);
}

TEST_CASE("typed tensor: shapes are kept, empty and rank-0 ones too") {
  TypedTensor tensor{ElementType::binary16, {2, 0, 3}, {}};
  CHECK(tensor.size() == 0);
  CHECK(decode(tensor).shape() == Shape{2, 0, 3});
  TypedTensor scalar = from_bytes(ElementType::int32, 1, {5, 0, 0, 0});
  scalar.shape = {};
  CHECK(decode_integers(scalar).shape().empty());
  CHECK(decode_integers(scalar).data() == Integers{5});
}

TEST_CASE("typed tensor: decoding as the wrong kind is refused") {
  const TypedTensor flags = from_bytes(ElementType::boolean, 1, {1});
  const InputError not_float = error_of([&] { decode(flags, "output"); });
  CHECK(not_float.code() == "tensor.not_floating_point");
  CHECK(not_float.where() == "output");
  const TypedTensor number = from_bytes(ElementType::float8_e5m2, 1, {1});
  const InputError not_integer = error_of([&] { decode_integers(number, "lengths"); });
  CHECK(not_integer.code() == "tensor.not_integer");
  CHECK(not_integer.where() == "lengths");
}

TEST_CASE("typed tensor: bytes that do not fit the shape are refused") {
  for (const std::int64_t count : {0, 1, 3}) {
    CAPTURE(count);
    const InputError floats = error_of([&] {
      decode(from_bytes(ElementType::binary16, count, {0, 0, 0, 0}), "value");
    });
    CHECK(floats.code() == "tensor.size_mismatch");
    CHECK(floats.where() == "value");
    const InputError integers = error_of([&] {
      decode_integers(from_bytes(ElementType::int8, count, {0, 0}), "value");
    });
    CHECK(integers.code() == "tensor.size_mismatch");
    CHECK(integers.where() == "value");
  }
  const InputError odd = error_of([] {
    decode(from_bytes(ElementType::binary16, 1, {0, 0, 0}), "value");
  });
  CHECK(odd.code() == "tensor.size_mismatch");
}
