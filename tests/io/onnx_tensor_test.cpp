// Every rule of the ONNX tensor reader with its exact code and place.
#include "gqa/io/onnx_tensor.hpp"

#include <doctest/doctest.h>

#include "io/io_support.hpp"
#include "io/protobuf_support.hpp"

using namespace gqa;
using namespace gqa::test;

namespace {

OnnxTensor parsed_onnx_tensor(const std::string& message) {
  return parse_onnx_tensor(to_bytes(message), "f");
}

void check_onnx_tensor_refused(const std::string& message, const std::string& code,
                               const std::string& where, const std::string& text = "") {
  check_error([&] { parsed_onnx_tensor(message); }, code, where, text);
}

struct TypeCase {
  std::int64_t data_type;
  ElementType type;
  std::string field;  // a typed field with the elements 1 and 2, or their bit patterns
  std::string raw;
};

std::vector<TypeCase> type_cases() {
  const auto int32_data = [](std::size_t size, std::uint64_t a, std::uint64_t b) {
    return std::pair(pb::bytes(5, pb::varint(a) + pb::varint(b)),
                     little_endian(a, size) + little_endian(b, size));
  };
  std::vector<TypeCase> cases{
      {1, ElementType::binary32, pb::binary32(4, 1) + pb::binary32(4, 2),
       little_endian(0x3f800000, 4) + little_endian(0x40000000, 4)},
      {11, ElementType::binary64, pb::binary64(10, 1) + pb::binary64(10, 2),
       little_endian(0x3ff0000000000000, 8) + little_endian(0x4000000000000000, 8)},
      {7, ElementType::int64, pb::integer(7, 1) + pb::integer(7, 2),
       little_endian(1, 8) + little_endian(2, 8)},
  };
  const auto add = [&](std::int64_t data_type, ElementType type, std::uint64_t a, std::uint64_t b) {
    const auto [field, raw] = int32_data(element_size(type), a, b);
    cases.push_back({data_type, type, field, raw});
  };
  add(2, ElementType::uint8, 1, 255);
  add(3, ElementType::int8, 1, 127);
  add(6, ElementType::int32, 1, 0x7fffffff);
  add(9, ElementType::boolean, 1, 0);
  add(10, ElementType::binary16, 0x3c00, 0xfbff);
  add(16, ElementType::bfloat16, 0x3f80, 0xff7f);
  add(17, ElementType::float8_e4m3fn, 0x38, 0xfe);
  add(19, ElementType::float8_e5m2, 0x3c, 0xfb);
  return cases;
}

}  // namespace

TEST_CASE("onnx tensor: every supported type is read from raw_data and from its typed field") {
  for (const TypeCase& c : type_cases()) {
    CAPTURE(c.data_type);
    const OnnxTensor raw = parsed_onnx_tensor(
        pb::tensor({2, 1}, c.data_type, pb::bytes(8, "name") + pb::bytes(9, c.raw)));
    CHECK(raw.name == "name");
    CHECK(raw.tensor.type == c.type);
    CHECK(raw.tensor.shape == Shape{2, 1});
    CHECK(raw.tensor.bytes == to_bytes(c.raw));
    CHECK(parsed_onnx_tensor(pb::tensor({2, 1}, c.data_type, c.field)).tensor.bytes ==
          to_bytes(c.raw));
  }
}

TEST_CASE("onnx tensor: scalars may be packed or not, dims too, in any order of fields") {
  const std::string packed = pb::bytes(4, little_endian(0x3f800000, 4) + std::string(4, '\0'));
  CHECK(decode(parsed_onnx_tensor(pb::tensor({2}, 1, packed)).tensor).data() ==
        std::vector<double>{1, 0});
  const std::string reversed =
      packed + pb::integer(2, 1) + pb::bytes(1, pb::varint(2) + pb::varint(1));
  CHECK(parsed_onnx_tensor(reversed).tensor.shape == Shape{2, 1});
  const std::string wide = pb::bytes(10, little_endian(0x3ff0000000000000, 8));
  CHECK(decode(parsed_onnx_tensor(pb::tensor({1}, 11, wide)).tensor).data() ==
        std::vector<double>{1});
}

TEST_CASE("onnx tensor: negative integers, scalars and empty tensors are read") {
  const OnnxTensor negative = parsed_onnx_tensor(pb::tensor({}, 3, pb::integer(5, -128)));
  CHECK(negative.tensor.shape.empty());
  CHECK(decode_integers(negative.tensor).data() == std::vector<std::int64_t>{-128});
  const OnnxTensor smallest = parsed_onnx_tensor(pb::tensor({1}, 7, pb::integer(7, INT64_MIN)));
  CHECK(decode_integers(smallest.tensor).data() == std::vector<std::int64_t>{INT64_MIN});
  CHECK(parsed_onnx_tensor(pb::tensor({2, 0}, 1, "")).tensor.shape == Shape{2, 0});
  CHECK(parsed_onnx_tensor(pb::tensor({2, 0}, 1, pb::bytes(9, ""))).tensor.bytes.empty());
}

TEST_CASE("onnx tensor: an int32_data element that its type cannot hold is refused") {
  const std::vector<std::pair<std::int64_t, std::int64_t>> too_large{
      {2, 256}, {2, -1},     {3, 128}, {3, -129},   {6, 2147483648}, {9, 2},
      {9, -1},  {10, 65536}, {10, -1}, {16, 65536}, {17, 256},       {19, 256}};
  for (const auto& [data_type, value] : too_large) {
    check_onnx_tensor_refused(pb::tensor({2}, data_type, pb::integer(5, 0) + pb::integer(5, value)),
                              "onnx.value_out_of_range", "f: int32_data",
                              "element 1 is " + std::to_string(value));
  }
}

TEST_CASE("onnx tensor: unknown types and a missing type are refused") {
  for (const std::int64_t data_type : {0, 4, 5, 8, 12, 13, 14, 15, 18, 20, 21, 23, -1}) {
    check_onnx_tensor_refused(pb::tensor({0}, data_type, ""), "onnx.unsupported_type",
                              "f: data_type", std::to_string(data_type));
  }
  check_onnx_tensor_refused("", "onnx.missing_field", "f: data_type");
}

TEST_CASE("onnx tensor: data elsewhere is refused, naming the file") {
  const std::string entry = pb::bytes(1, "location") + pb::bytes(2, "weights.bin");
  check_onnx_tensor_refused(pb::tensor({1}, 1, pb::bytes(13, entry)), "onnx.external_data",
                            "f: external_data", "location = weights.bin");
  check_onnx_tensor_refused(pb::tensor({1}, 1, pb::integer(14, 1)), "onnx.external_data",
                            "f: data_location");
  check_onnx_tensor_refused(pb::tensor({1}, 1, pb::bytes(3, "")), "onnx.segment", "f: segment");
  CHECK(parsed_onnx_tensor(pb::tensor({0}, 1, pb::integer(14, 0))).tensor.shape == Shape{0});
}

TEST_CASE("onnx tensor: data in two fields or in the wrong one is refused") {
  const std::string raw = pb::bytes(9, std::string(4, '\0'));
  check_onnx_tensor_refused(pb::tensor({1}, 1, raw + pb::binary32(4, 1)), "onnx.two_data_fields",
                            "f: raw_data", "float_data");
  check_onnx_tensor_refused(pb::tensor({1}, 1, pb::binary32(4, 1) + pb::integer(5, 1)),
                            "onnx.two_data_fields", "f: int32_data", "float_data");
  check_onnx_tensor_refused(pb::tensor({1}, 7, pb::integer(5, 1)), "onnx.wrong_data_field",
                            "f: int32_data", "int64_data");
  check_onnx_tensor_refused(pb::tensor({1}, 10, pb::binary32(4, 1)), "onnx.wrong_data_field",
                            "f: float_data", "int32_data");
  check_onnx_tensor_refused(pb::tensor({1}, 1, raw + raw), "onnx.duplicate_field", "f: raw_data",
                            "at byte 10");
}

TEST_CASE("onnx tensor: dims and data must fit, also where sizes overflow") {
  for (const std::size_t size : {0U, 3U, 5U, 8U}) {
    check_onnx_tensor_refused(pb::tensor({1}, 1, pb::bytes(9, std::string(size, '\0'))),
                              "onnx.size_mismatch", "f", std::to_string(size) + " bytes");
  }
  check_onnx_tensor_refused(pb::tensor({2}, 1, pb::binary32(4, 1)), "onnx.size_mismatch", "f");
  check_onnx_tensor_refused(pb::tensor({1}, 1, ""), "onnx.size_mismatch", "f");
  check_onnx_tensor_refused(pb::tensor({std::int64_t{1} << 61}, 11, ""), "onnx.size_mismatch", "f");
  check_onnx_tensor_refused(pb::tensor({1, -1}, 1, ""), "onnx.negative_extent", "f: dims");
  check_onnx_tensor_refused(pb::tensor({INT64_MAX, INT64_MAX}, 1, ""), "onnx.too_large", "f: dims");
}

TEST_CASE("onnx tensor: bytes that are no message are refused at their byte") {
  check_onnx_tensor_refused("\xff", "onnx.syntax", "f", "at byte 0");
  check_onnx_tensor_refused(pb::integer(2, 1) + "\x4a\x05xy", "onnx.syntax", "f: raw_data",
                            "at byte 2");
  check_onnx_tensor_refused(pb::integer(2, 1) + "\x0b", "onnx.syntax", "f", "at byte 2");
  check_onnx_tensor_refused(std::string("\x00\x00", 2), "onnx.syntax", "f", "at byte 0");
  check_onnx_tensor_refused(pb::bytes(4, "abc"), "onnx.syntax", "f: float_data", "at byte 0");
  check_onnx_tensor_refused(pb::bytes(2, "x"), "onnx.wire_type", "f: data_type", "at byte 0");
  check_onnx_tensor_refused(pb::integer(9, 1), "onnx.wire_type", "f: raw_data");
  check_onnx_tensor_refused(pb::integer(99, 1), "onnx.unknown_field", "f", "field number 99");
  check_onnx_tensor_refused(pb::bytes(6, "text"), "onnx.unknown_field", "f", "field number 6");
  check_onnx_tensor_refused(pb::integer(2, 1) + pb::integer(2, 1), "onnx.duplicate_field",
                            "f: data_type", "at byte 2");
}

TEST_CASE("onnx tensor: any damaged message gives an error of the reader or another tensor") {
  const std::string good =
      pb::tensor({2, 1}, 1, pb::bytes(8, "Q") + pb::bytes(4, std::string(8, 1)));
  for (std::size_t i = 0; i < good.size(); ++i) {
    const InputError cut = error_of([&] { parsed_onnx_tensor(good.substr(0, i)); });
    CHECK(cut.code().starts_with("onnx."));
    for (int flip = 1; flip < 256; ++flip) {
      CAPTURE(i);
      CAPTURE(flip);
      std::string damaged = good;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      const InputError error = error_of([&] { parsed_onnx_tensor(damaged); });
      CHECK((error.code() == "none" || error.code().starts_with("onnx.")));
    }
  }
}
