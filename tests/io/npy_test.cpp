// Every rule of the .npy reader with its exact code and place.
#include "gqa/io/npy.hpp"

#include <doctest/doctest.h>

#include <bit>

#include "gqa/io/file.hpp"
#include "io/io_support.hpp"
#include "io/npy_support.hpp"

using namespace gqa;
using namespace gqa::test;

namespace {

TypedTensor parsed_npy(const std::string& file) {
  return parse_npy(to_bytes(file), "f");
}

void check_npy_refused(const std::string& file, const std::string& code, const std::string& where,
                       const std::string& text = "") {
  CAPTURE(file);
  check_error([&] { parsed_npy(file); }, code, where, text);
}

void check_dictionary(const std::string& dictionary, const std::string& code,
                      const std::string& where, const std::string& text = "") {
  check_npy_refused(npy(dictionary, ""), code, where, text);
}

std::string floats(std::initializer_list<float> values) {
  std::string bytes;
  for (const float value : values) bytes += little_endian(std::bit_cast<std::uint32_t>(value), 4);
  return bytes;
}

}  // namespace

TEST_CASE("npy: a file written out by hand is read in all three versions") {
  for (const int version : {1, 2, 3}) {
    CAPTURE(version);
    const TypedTensor tensor =
        parsed_npy(npy(npy_dictionary("<f4", "(2, 3)"), floats({1, 2, 3, 4, 5, -6}), version));
    CHECK(tensor.type == ElementType::binary32);
    CHECK(tensor.shape == Shape{2, 3});
    CHECK(decode(tensor).data() == std::vector<double>{1, 2, 3, 4, 5, -6});
  }
}

TEST_CASE("npy: scalars, one axis, empty axes and double quotes are read") {
  CHECK(parsed_npy(npy(npy_dictionary("<f4", "()"), floats({1.5}))).shape.empty());
  CHECK(parsed_npy(npy(npy_dictionary("<f4", "(1,)"), floats({1.5}))).shape == Shape{1});
  CHECK(parsed_npy(npy(npy_dictionary("<f4", "(1, 1,)"), floats({1.5}))).shape == Shape{1, 1});
  CHECK(parsed_npy(npy(npy_dictionary("<f8", "(3, 0)"), "")).shape == Shape{3, 0});
  CHECK(parsed_npy(npy(npy_dictionary("<f8", "(3, 0)", "True"), "")).shape == Shape{3, 0});
  const std::string other = "{\"shape\":(1,),\"fortran_order\":True,\"descr\":\"|u1\"}\n";
  CHECK(decode_integers(parsed_npy(npy(other, "\x07"))).data() == std::vector<std::int64_t>{7});
}

TEST_CASE("npy: every supported dtype is read, in both byte orders") {
  const std::vector<std::pair<std::string, ElementType>> supported{
      {"f8", ElementType::binary64}, {"f4", ElementType::binary32}, {"f2", ElementType::binary16},
      {"b1", ElementType::boolean},  {"i1", ElementType::int8},     {"u1", ElementType::uint8},
      {"i4", ElementType::int32},    {"i8", ElementType::int64}};
  for (const auto& [descr, type] : supported) {
    CAPTURE(descr);
    const std::size_t size = element_size(type);
    const std::string little = little_endian(0x0102030405060708, size);
    const std::string big(little.rbegin(), little.rend());
    const TypedTensor from_little = parsed_npy(npy(npy_dictionary("<" + descr, "(1,)"), little));
    const TypedTensor from_big = parsed_npy(npy(npy_dictionary(">" + descr, "(1,)"), big));
    CHECK(from_little.type == type);
    CHECK(from_little.bytes == to_bytes(little));
    CHECK(from_big.bytes == to_bytes(little));
    if (size == 1) {
      CHECK(parsed_npy(npy(npy_dictionary("|" + descr, "(1,)"), little)).type == type);
    } else {
      check_dictionary(npy_dictionary("|" + descr, "(0,)"), "npy.unknown_dtype", "f: header: descr",
                       "|" + descr);
    }
  }
}

TEST_CASE("npy: Fortran order is transposed, for two axes and for four") {
  // Element [i, j] = 10 i + j, the first axis fastest.
  const TypedTensor two = parsed_npy(
      npy(npy_dictionary("|u1", "(2, 3)", "True"), std::string("\x00\x0a\x01\x0b\x02\x0c", 6)));
  CHECK(decode_integers(two).data() == std::vector<std::int64_t>{0, 1, 2, 10, 11, 12});
  const Shape shape{2, 3, 4, 5};
  std::string fortran;
  for (int d = 0; d < 5; ++d) {
    for (int c = 0; c < 4; ++c) {
      for (int b = 0; b < 3; ++b) {
        for (int a = 0; a < 2; ++a) {
          fortran += little_endian(static_cast<std::uint64_t>(((a * 3 + b) * 4 + c) * 5 + d), 4);
        }
      }
    }
  }
  const TypedTensor four = parsed_npy(npy(npy_dictionary("<i4", "(2, 3, 4, 5)", "True"), fortran));
  CHECK(four.shape == shape);
  for (std::size_t i = 0; i < four.size(); ++i) CHECK(four.bits(i) == i);
}

TEST_CASE("npy: bfloat16 and 8-bit floats are refused as ambiguous, pointing to safetensors") {
  for (const std::string descr : {"<V2", "|V2", "|V1", "<V1", "<f1", "|f1", "|V8"}) {
    check_dictionary(npy_dictionary(descr, "(0,)"), "npy.ambiguous_dtype", "f: header: descr",
                     ".safetensors");
  }
}

TEST_CASE("npy: other dtypes are refused by name") {
  for (const std::string descr :
       {"<c8", "<u2", "<i2", "|O", "<U4", "=f4", "f4", "", "<", "<f44", "<M8[ns]"}) {
    check_dictionary(npy_dictionary(descr, "(0,)"), "npy.unknown_dtype", "f: header: descr",
                     '"' + descr + '"');
  }
  check_dictionary("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (0,), }\n",
                   "npy.unknown_dtype", "f: header: descr", "structured");
}

TEST_CASE("npy: magic string, version and header length are checked against the file") {
  const std::string good = npy(npy_dictionary("<f4", "(1,)"), floats({1}));
  check_npy_refused("", "npy.bad_magic", "f", "byte 0");
  check_npy_refused("\x93NUMPX" + good.substr(6), "npy.bad_magic", "f");
  for (std::size_t size = 6; size < 10; ++size) {
    check_npy_refused(good.substr(0, size), "npy.truncated", "f", "byte");
  }
  for (std::size_t size = 10; size < good.size(); ++size) {
    check_npy_refused(good.substr(0, size), "npy.truncated", "f", "byte");
  }
  for (const int version : {0, 4, 255}) {
    check_npy_refused(npy("{}\n", "", version), "npy.unsupported_version", "f", "byte 6");
  }
  std::string minor = good;
  minor[7] = 1;
  check_npy_refused(minor, "npy.unsupported_version", "f", "1.1");
  const std::string head = good.substr(0, 6) + std::string("\x02\x00", 2);
  check_npy_refused(head + little_endian(1'000'001, 4), "npy.header_too_large", "f", "byte 8");
  check_npy_refused(head + little_endian(0xffffffff, 4), "npy.header_too_large", "f", "byte 8");
  check_npy_refused(head + little_endian(1'000'000, 4), "npy.truncated", "f", "1000012");
}

TEST_CASE("npy: a header that is not one plain dictionary is refused at its byte") {
  for (const std::string dictionary : {"",
                                       "\n",
                                       "{",
                                       "{}",
                                       "[]\n",
                                       "{} \n \n",
                                       "{}\n\n",
                                       "{,}\n",
                                       "{'descr'}\n",
                                       "{'descr':}\n",
                                       "dict()\n",
                                       "{'descr': '<f4' 'shape': (1,)}\n",
                                       "{'shape': (1}\n",
                                       "{'shape': (1)}\n",
                                       "{'shape': (,)}\n",
                                       "{'shape': (1,,)}\n",
                                       "{'shape': (1 2)}\n",
                                       "{'shape': [1]}\n",
                                       "{'shape': (3L,)}\n",
                                       "{'shape': (-1,)}\n",
                                       "{'shape': (+1,)}\n",
                                       "{'shape': (01,)}\n",
                                       "{'shape': (1.0,)}\n",
                                       "{'shape': (0x1,)}\n",
                                       "{'shape': (9223372036854775808,)}\n",
                                       "{'shape': (2**3,)}\n",
                                       "{'fortran_order': 0}\n",
                                       "{'fortran_order': true}\n",
                                       "{'fortran_order': Falsehood}\n",
                                       "{'desc\\x72': '<f4'}\n",
                                       "{'descr: '<f4'}\n",
                                       "{'descr\": '<f4'}\n",
                                       "{descr: '<f4'}\n",
                                       "{'descr':\n'<f4'}\n",
                                       "{#\n}\n"}) {
    check_dictionary(dictionary, "npy.syntax", "f: header", "at byte ");
  }
  check_dictionary("{'shape': (7x,)}\n", "npy.syntax", "f: header", "at byte 22: ");
  check_dictionary("{'a': 1}\n", "npy.unknown_key", "f: header: a");
}

TEST_CASE("npy: the three keys are there once each and nothing else is") {
  check_dictionary("{'descr': '<f4', 'descr': '<f4'}\n", "npy.duplicate_key", "f: header: descr");
  check_dictionary("{'shape': (), 'shape': ()}\n", "npy.duplicate_key", "f: header: shape");
  check_dictionary("{'fortran_order': True, 'shape': ()}\n", "npy.missing_key", "f: header: descr");
  check_dictionary("{'descr': '<f4', 'shape': ()}\n", "npy.missing_key",
                   "f: header: fortran_order");
  check_dictionary("{'descr': '<f4', 'fortran_order': True}\n", "npy.missing_key",
                   "f: header: shape");
  check_dictionary("{'descr': '<f4', 'order': 'C'}\n", "npy.unknown_key", "f: header: order");
}

TEST_CASE("npy: data that does not fit the shape is refused, also where sizes overflow") {
  const std::string header = npy_dictionary("<f8", "(2,)");
  check_npy_refused(npy(header, std::string(15, 'x')), "npy.truncated", "f", "15 bytes");
  check_npy_refused(npy(header, std::string(17, 'x')), "npy.trailing_bytes", "f", "17 bytes");
  check_npy_refused(npy(header, std::string(24, 'x')), "npy.trailing_bytes", "f", "24 bytes");
  check_npy_refused(npy(npy_dictionary("<f8", "(0,)"), "x"), "npy.trailing_bytes", "f");
  // 2^61 * 8 bytes are 0 in 64-bit arithmetic.
  check_npy_refused(npy(npy_dictionary("<f8", "(2305843009213693952,)"), ""), "npy.truncated", "f");
  check_npy_refused(npy(npy_dictionary("|u1", "(4294967296, 4294967296)"), ""), "npy.too_large",
                    "f: header: shape");
}

TEST_CASE("npy: any flipped byte gives an error of the reader or another valid file") {
  const std::string good = npy(npy_dictionary("<f4", "(2, 1)", "True"), floats({1, 2}));
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (int flip = 1; flip < 256; ++flip) {
      CAPTURE(i);
      CAPTURE(flip);
      std::string damaged = good;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      const InputError error = error_of([&] { parsed_npy(damaged); });
      CHECK((error.code() == "none" || error.code().starts_with("npy.")));
    }
  }
}

TEST_CASE("npy: reading a missing file reports its path") {
  const TemporaryDirectory directory;
  const std::string path = (directory / "missing.npy").string();
  CHECK(error_of([&] { read_npy(path); }).code() == "file.not_found");
  write_file_atomically(path, "short");
  const InputError error = error_of([&] { read_npy(path); });
  CHECK(error.code() == "npy.bad_magic");
  CHECK(error.where() == path);
}
