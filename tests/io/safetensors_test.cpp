// Every rule of the reader with its exact code and place.
#include "gqa/io/safetensors.hpp"

#include <doctest/doctest.h>

#include "gqa/io/file.hpp"
#include "io/io_support.hpp"
#include "io/safetensors_support.hpp"

using namespace gqa;
using namespace gqa::test;

namespace {

InputError error_of_bytes(const std::vector<std::byte>& bytes) {
  return error_of([&] { parse_safetensors(bytes, "f"); });
}

// Expects the error of a file with this header text and buffer.
void check_header_refused(const std::string& header, std::size_t buffer_size,
                          const std::string& code, const std::string& where) {
  CAPTURE(header);
  check_error([&] { parse_safetensors(with_header(header, buffer_size), "f"); }, code, where);
}

// A header of one tensor "t" with these three field values.
std::string one_tensor(const std::string& dtype, const std::string& shape,
                       const std::string& offsets) {
  return R"({"t":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}}";
}

}  // namespace

TEST_CASE("safetensors: a file written out by hand is read") {
  const std::vector<std::byte> bytes =
      with_header(R"({"__metadata__":{"format":"pt","note":""},)"
                  R"("b":{"shape":[2],"dtype":"BF16","data_offsets":[4,8]},)"
                  R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                  R"("none":{"dtype":"I64","shape":[3,0],"data_offsets":[4,4]}}   )",
                  {0x00, 0x00, 0xc0, 0x3f, 0x80, 0x3f, 0x00, 0xc0});
  const SafetensorsFile file = parse_safetensors(bytes, "f");
  CHECK(file.metadata == std::map<std::string, std::string>{{"format", "pt"}, {"note", ""}});
  REQUIRE(file.tensors.size() == 3);
  CHECK(decode(file.tensors.at("a")).shape().empty());
  CHECK(decode(file.tensors.at("a")).data() == std::vector<double>{1.5});
  CHECK(file.tensors.at("b").type == ElementType::bfloat16);
  CHECK(decode(file.tensors.at("b")).data() == std::vector<double>{1.0, -2.0});
  CHECK(file.tensors.at("none").shape == Shape{3, 0});
}

TEST_CASE("safetensors: a file without tensors is read") {
  CHECK(parse_safetensors(with_header("{}", 0), "f").tensors.empty());
  CHECK(parse_safetensors(with_header(R"({"__metadata__":{}})", 0), "f").metadata.empty());
}

TEST_CASE("safetensors: every supported dtype is read and others are named") {
  const std::vector<std::pair<std::string, ElementType>> supported{
      {"F64", ElementType::binary64},
      {"F32", ElementType::binary32},
      {"F16", ElementType::binary16},
      {"BF16", ElementType::bfloat16},
      {"F8_E4M3", ElementType::float8_e4m3fn},
      {"F8_E5M2", ElementType::float8_e5m2},
      {"BOOL", ElementType::boolean},
      {"I8", ElementType::int8},
      {"U8", ElementType::uint8},
      {"I32", ElementType::int32},
      {"I64", ElementType::int64}};
  for (const auto& [dtype, type] : supported) {
    CAPTURE(dtype);
    const std::size_t size = 3 * element_size(type);
    const std::string header =
        one_tensor('"' + dtype + '"', "[3]", "[0," + std::to_string(size) + "]");
    CHECK(parse_safetensors(with_header(header, size), "f").tensors.at("t").type == type);
  }
  for (const std::string dtype : {"C64", "U16", "f32", "F32 ", ""}) {
    const std::string header = one_tensor('"' + dtype + '"', "[0]", "[0,0]");
    check_header_refused(header, 0, "safetensors.unknown_dtype", "f: tensor t: dtype");
    const InputError error = error_of_bytes(with_header(header, 0));
    CHECK(error.message().find('"' + dtype + '"') != std::string::npos);
  }
}

TEST_CASE("safetensors: a file too short for its length field or header is truncated") {
  for (std::size_t size = 0; size < 8; ++size) {
    const InputError error = error_of_bytes(std::vector<std::byte>(size));
    CHECK(error.code() == "safetensors.truncated");
    CHECK(error.where() == "f");
  }
  std::vector<std::byte> bytes = with_header("{}", 0);
  bytes[0] = std::byte{3};
  CHECK(error_of_bytes(bytes).code() == "safetensors.truncated");
  CHECK(error_of_bytes(bytes).where() == "f");
}

TEST_CASE("safetensors: a header of more than 100 MB is refused before it is looked at") {
  const auto with_length = [](std::uint64_t length) {
    std::vector<std::byte> bytes(8);
    for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(length >> (8 * i));
    return bytes;
  };
  CHECK(error_of_bytes(with_length(100'000'000)).code() == "safetensors.truncated");
  for (const std::uint64_t length : {100'000'001UL, ~0UL, ~0UL - 7, 1UL << 63}) {
    CAPTURE(length);
    CHECK(error_of_bytes(with_length(length)).code() == "safetensors.header_too_large");
    CHECK(error_of_bytes(with_length(length)).where() == "f");
  }
}

TEST_CASE("safetensors: a header that is not one padded JSON object is refused") {
  for (const std::string header :
       {"", " {}", "[]", "7", "\xef\xbb\xbf{}", "{", "{}}", "{} {}", "{}\n", "{}\t ", "{}x",
        "{} \x01", "{\"a\xff\":1}", "{\"a\":1,}", "{\"__metadata__\":{\"a\":\"\xc3\"}}"}) {
    check_header_refused(header, 0, "safetensors.syntax", "f: header");
  }
  check_header_refused(std::string("{}\0 ", 4), 0, "safetensors.syntax", "f: header");
  check_header_refused(std::string("{\0}", 3), 0, "safetensors.syntax", "f: header");
  const InputError error = error_of_bytes(with_header("{\"a\":!}", 0));
  CHECK_MESSAGE(error.message().starts_with("at byte 5: "), error.message());
}

TEST_CASE("safetensors: deep nesting is refused") {
  const std::string deep = R"({"t":)" + std::string(1000, '[') + std::string(1000, ']') + "}";
  const InputError error = error_of_bytes(with_header(deep, 0));
  CHECK(error.code() == "safetensors.too_deep");
  CHECK(error.where().starts_with("f: header: t[0]"));
}

TEST_CASE("safetensors: duplicate keys are refused wherever they are") {
  const std::string tensor = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  const std::string code = "safetensors.duplicate_key";
  check_header_refused(R"({"t":)" + tensor + R"(,"t":)" + tensor + "}", 0, code, "f: header: t");
  check_header_refused(R"({"__metadata__":{},"__metadata__":{}})", 0, code,
                       "f: header: __metadata__");
  check_header_refused(R"({"__metadata__":{"k":"a","k":"a"}})", 0, code,
                       "f: header: __metadata__.k");
  check_header_refused(R"({"t":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})", 0,
                       code, "f: header: t.dtype");
}

TEST_CASE("safetensors: metadata that is not strings to strings is refused") {
  for (const std::string metadata : {"null", "[]", "\"a\"", R"({"k":1})", R"({"k":null})",
                                     R"({"k":{}})", R"({"a":"b","k":["c"]})"}) {
    check_header_refused(R"({"__metadata__":)" + metadata + "}", 0, "safetensors.bad_metadata",
                         "f: __metadata__");
  }
}

TEST_CASE("safetensors: a tensor has exactly its three fields") {
  check_header_refused(R"({"t":{"shape":[0],"data_offsets":[0,0]}})", 0,
                       "safetensors.missing_field", "f: tensor t: dtype");
  check_header_refused(R"({"t":{"dtype":"U8","data_offsets":[0,0]}})", 0,
                       "safetensors.missing_field", "f: tensor t: shape");
  check_header_refused(R"({"t":{"dtype":"U8","shape":[0]}})", 0, "safetensors.missing_field",
                       "f: tensor t: data_offsets");
  check_header_refused(R"({"t":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"stride":[1]}})", 0,
                       "safetensors.unknown_field", "f: tensor t: stride");
  for (const std::string value : {"null", "[]", "1", "\"F32\""}) {
    check_header_refused(R"({"t":)" + value + "}", 0, "safetensors.bad_field", "f: tensor t");
  }
}

TEST_CASE("safetensors: numbers that are not integers from 0 to 2^63 - 1 are refused") {
  for (const std::string number :
       {"-1", "-0", "1.0", "1e0", "1.5", "true", "null", "\"1\"", "[1]", "{}",
        "9223372036854775808", "18446744073709551616", "-9223372036854775809"}) {
    check_header_refused(one_tensor("\"U8\"", "[" + number + "]", "[0,1]"), 1,
                         "safetensors.bad_field", "f: tensor t: shape");
    check_header_refused(one_tensor("\"U8\"", "[1]", "[0," + number + "]"), 1,
                         "safetensors.bad_field", "f: tensor t: data_offsets");
  }
  check_header_refused(one_tensor("\"U8\"", "1", "[0,1]"), 1, "safetensors.bad_field",
                       "f: tensor t: shape");
  check_header_refused(one_tensor("8", "[1]", "[0,1]"), 1, "safetensors.bad_field",
                       "f: tensor t: dtype");
}

TEST_CASE("safetensors: data_offsets are a pair in order") {
  for (const std::string offsets : {"[]", "[0]", "[0,1,1]", "[1,0]", "{}"}) {
    check_header_refused(one_tensor("\"U8\"", "[1]", offsets), 1, "safetensors.bad_field",
                         "f: tensor t: data_offsets");
  }
}

TEST_CASE("safetensors: offsets that do not fit shape and dtype are refused") {
  const std::string where = "f: tensor t: data_offsets";
  for (const std::string shape : {"[0]", "[1]", "[3]", "[2,2]", "[1,0,2]"}) {
    check_header_refused(one_tensor("\"F32\"", shape, "[0,8]"), 8, "safetensors.size_mismatch",
                         where);
  }
  check_header_refused(one_tensor("\"F32\"", "[2]", "[0,9]"), 9, "safetensors.size_mismatch",
                       where);
  check_header_refused(one_tensor("\"F32\"", "[2]", "[0,7]"), 7, "safetensors.size_mismatch",
                       where);
  // 2^61 * 8 bytes and 2^32 * 2^30 * 8 bytes are 0 in 64-bit arithmetic.
  check_header_refused(one_tensor("\"F64\"", "[2305843009213693952]", "[0,0]"), 0,
                       "safetensors.size_mismatch", where);
  check_header_refused(one_tensor("\"F64\"", "[4294967296,1073741824]", "[0,0]"), 0,
                       "safetensors.size_mismatch", where);
  check_header_refused(one_tensor("\"U8\"", "[4294967296,4294967296]", "[0,0]"), 0,
                       "safetensors.too_large", "f: tensor t: shape");
}

TEST_CASE("safetensors: a tensor beyond the end of the file is truncated") {
  check_header_refused(one_tensor("\"U8\"", "[4]", "[0,4]"), 3, "safetensors.truncated",
                       "f: tensor t: data_offsets");
  check_header_refused(one_tensor("\"U8\"", "[9223372036854775]", "[0,9223372036854775]"), 3,
                       "safetensors.truncated", "f: tensor t: data_offsets");
  check_header_refused(one_tensor("\"U8\"", "[0]", "[9223372036854775807,9223372036854775807]"), 3,
                       "safetensors.truncated", "f: tensor t: data_offsets");
}

TEST_CASE("safetensors: a hole between tensors is refused, naming the offset") {
  const auto two = [](int begin, int end) {
    return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[)" +
           std::to_string(end - begin) + R"(],"data_offsets":[)" + std::to_string(begin) + "," +
           std::to_string(end) + "]}}";
  };
  CHECK(error_of_bytes(with_header(two(4, 8), 8)).code() == "none");
  check_header_refused(two(5, 8), 8, "safetensors.hole", "f: tensor b: data_offsets");
  const std::string start = std::to_string(8 + two(5, 8).size() + 4);
  CHECK(error_of_bytes(with_header(two(5, 8), 8)).message().find("bytes " + start + " to ") !=
        std::string::npos);
  check_header_refused(two(4, 7), 8, "safetensors.hole", "f");
  check_header_refused(one_tensor("\"U8\"", "[7]", "[1,8]"), 8, "safetensors.hole",
                       "f: tensor t: data_offsets");
  check_header_refused("{}", 1, "safetensors.hole", "f");
  check_header_refused(two(3, 8), 8, "safetensors.overlap", "f: tensor b: data_offsets");
  check_header_refused(two(0, 4), 4, "safetensors.overlap", "f: tensor b: data_offsets");
  check_header_refused(two(2, 2), 4, "safetensors.overlap", "f: tensor b: data_offsets");
  CHECK(error_of_bytes(with_header(two(0, 0), 4)).code() == "none");
}

TEST_CASE("safetensors: reading a missing file reports its path") {
  const TemporaryDirectory directory;
  const std::string path = (directory / "missing.safetensors").string();
  const InputError error = error_of([&] { read_safetensors(path); });
  CHECK(error.code() == "file.not_found");
  CHECK(error.where() == path);
  write_file_atomically(path, "short");
  const InputError truncated = error_of([&] { read_safetensors(path); });
  CHECK(truncated.code() == "safetensors.truncated");
  CHECK(truncated.where() == path);
}
