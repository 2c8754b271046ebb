// Writing, reading back, and reading what was damaged on the way.
#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <random>

#include "gqa/io/file.hpp"
#include "gqa/io/safetensors.hpp"
#include "io/io_support.hpp"
#include "io/safetensors_support.hpp"

using namespace gqa;
using namespace gqa::test;

namespace {

TypedTensor random_tensor(ElementType type, const Shape& shape, std::mt19937_64& random) {
  TypedTensor tensor{type, shape, {}};
  const auto count = static_cast<std::size_t>(element_count(shape));
  tensor.bytes.resize(count * element_size(type));
  for (std::byte& byte : tensor.bytes) byte = static_cast<std::byte>(random());
  return tensor;
}

SafetensorsFile sample() {
  std::mt19937_64 random(20240608);
  SafetensorsFile file;
  file.metadata = {{"attention", R"({"heads": 8})"}, {"", "\xc3\xa9\n\""}};
  file.tensors["query"] = random_tensor(ElementType::bfloat16, {1, 2, 3, 5}, random);
  file.tensors["key.\"0\""] = random_tensor(ElementType::binary64, {3}, random);
  file.tensors["mask"] = random_tensor(ElementType::boolean, {7}, random);
  file.tensors["\xc3\xa9"] = random_tensor(ElementType::binary32, {}, random);
  file.tensors["empty"] = random_tensor(ElementType::int64, {4, 0}, random);
  return file;
}

void check_same(const SafetensorsFile& a, const SafetensorsFile& b) {
  CHECK(a.metadata == b.metadata);
  REQUIRE(a.tensors.size() == b.tensors.size());
  for (const auto& [name, tensor] : a.tensors) {
    CAPTURE(name);
    REQUIRE(b.tensors.count(name) == 1);
    CHECK(tensor.type == b.tensors.at(name).type);
    CHECK(tensor.shape == b.tensors.at(name).shape);
    CHECK(tensor.bytes == b.tensors.at(name).bytes);
  }
}

// Parses; an InputError is an answer, anything else escapes and fails the test.
bool parses(const std::vector<std::byte>& bytes) {
  try {
    parse_safetensors(bytes, "f");
    return true;
  } catch (const InputError& error) {
    CHECK(error.code().starts_with("safetensors."));
    CHECK(error.where().starts_with("f"));
    return false;
  }
}

std::size_t header_end(const std::vector<std::byte>& bytes) {
  return 8 + std::to_integer<std::size_t>(bytes[0]) + 256 * std::to_integer<std::size_t>(bytes[1]);
}

}  // namespace

TEST_CASE("safetensors: what is written is read back") {
  const TemporaryDirectory directory;
  write_safetensors(directory / "a.safetensors", sample());
  check_same(sample(), read_safetensors(directory / "a.safetensors"));
  write_safetensors(directory / "none.safetensors", {});
  check_same({}, read_safetensors(directory / "none.safetensors"));
  CHECK(directory.entries() == 2);
}

TEST_CASE("safetensors: the written bytes are those of the format") {
  SafetensorsFile file;
  file.metadata = {{"k", "v"}};
  file.tensors["a"] = {ElementType::uint8, {1}, to_bytes("\x07")};
  file.tensors["b"] = {ElementType::binary16, {1}, to_bytes("\x01\x02")};
  const std::string header =
      R"({"__metadata__":{"k":"v"},"a":{"data_offsets":[2,3],"dtype":"U8","shape":[1]},)"
      R"("b":{"data_offsets":[0,2],"dtype":"F16","shape":[1]}})";
  const std::string padding((8 - header.size() % 8) % 8, ' ');
  CHECK(serialize_safetensors(file) == with_header(header + padding, {1, 2, 7}));
}

TEST_CASE("safetensors: every written tensor is aligned to its element size") {
  const std::vector<std::byte> bytes = serialize_safetensors(sample());
  CHECK(header_end(bytes) % 8 == 0);
  CHECK(bytes[header_end(bytes) - 1] != std::byte{0});
  std::size_t offset = 0;
  // Falling element sizes: binary64, binary32, bfloat16, bool.
  for (const char* name : {"key.\"0\"", "\xc3\xa9", "query", "mask"}) {
    const TypedTensor tensor = sample().tensors.at(name);
    CAPTURE(name);
    CHECK(offset % element_size(tensor.type) == 0);
    const auto start = bytes.begin() + static_cast<std::ptrdiff_t>(header_end(bytes) + offset);
    CHECK(std::equal(tensor.bytes.begin(), tensor.bytes.end(), start));
    offset += tensor.bytes.size();
  }
  CHECK(header_end(bytes) + offset == bytes.size());
}

TEST_CASE("safetensors: what cannot be read back is not written") {
  const auto error_of_file = [](const std::string& name, const TypedTensor& tensor) {
    SafetensorsFile file;
    file.tensors[name] = tensor;
    return error_of([&] { serialize_safetensors(file); });
  };
  const TypedTensor good{ElementType::uint8, {1}, to_bytes("x")};
  CHECK(error_of_file("t", good).code() == "none");
  CHECK(error_of_file("__metadata__", good).code() == "safetensors.reserved_name");
  CHECK(error_of_file("__metadata__", good).where() == "tensor __metadata__");
  CHECK(error_of_file("\xff", good).code() == "safetensors.invalid_utf8");
  CHECK(error_of_file("\xff", good).where() == "header");
  const TypedTensor too_few{ElementType::uint8, {2}, to_bytes("x")};
  CHECK(error_of_file("t", too_few).code() == "safetensors.size_mismatch");
  CHECK(error_of_file("t", too_few).where() == "tensor t");
  const TypedTensor odd{ElementType::binary16, {1}, to_bytes("abc")};
  CHECK(error_of_file("t", odd).code() == "safetensors.size_mismatch");
  CHECK(error_of_file("t", {ElementType::uint8, {-1}, {}}).code() == "tensor.negative_extent");
  SafetensorsFile metadata;
  metadata.metadata["k"] = "\xc3";
  CHECK(error_of([&] { serialize_safetensors(metadata); }).code() == "safetensors.invalid_utf8");
}

TEST_CASE("safetensors: a refused file is not written and leaves nothing behind") {
  const TemporaryDirectory directory;
  SafetensorsFile file;
  file.tensors["t"] = {ElementType::uint8, {2}, to_bytes("x")};
  CHECK(error_of([&] { write_safetensors(directory / "a", file); }).code() ==
        "safetensors.size_mismatch");
  CHECK(directory.entries() == 0);
}

TEST_CASE("safetensors: a file cut at any byte is refused") {
  const std::vector<std::byte> bytes = serialize_safetensors(sample());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CAPTURE(size);
    const auto cut =
        std::vector<std::byte>(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    const InputError error = error_of([&] { parse_safetensors(cut, "f"); });
    CHECK(error.code() == "safetensors.truncated");
  }
  std::vector<std::byte> longer = bytes;
  longer.push_back(std::byte{0});
  CHECK(error_of([&] { parse_safetensors(longer, "f"); }).code() == "safetensors.hole");
}

TEST_CASE("safetensors: a flipped header byte is an error or another valid file, never a crash") {
  const std::vector<std::byte> bytes = serialize_safetensors(sample());
  const std::size_t end = header_end(bytes);
  std::size_t refused = 0;
  for (std::size_t i = 0; i < end; ++i) {
    for (int flip = 1; flip < 256; ++flip) {
      CAPTURE(i);
      CAPTURE(flip);
      std::vector<std::byte> damaged = bytes;
      damaged[i] ^= static_cast<std::byte>(flip);
      if (!parses(damaged)) ++refused;
    }
  }
  // Only the letters of names and metadata, and dtypes of equal size, may change unseen.
  CAPTURE(refused);
  CHECK(refused > end * 255 / 2);
}

TEST_CASE("safetensors: spliced and shuffled files never crash the reader") {
  std::mt19937_64 random(20240609);
  const std::vector<std::byte> bytes = serialize_safetensors(sample());
  for (int i = 0; i < 3000; ++i) {
    CAPTURE(i);
    std::vector<std::byte> damaged = bytes;
    for (std::uint64_t edits = 1 + random() % 3; edits > 0; --edits) {
      const auto from = static_cast<std::ptrdiff_t>(random() % damaged.size());
      const auto to = static_cast<std::ptrdiff_t>(random() % damaged.size());
      std::swap(damaged[static_cast<std::size_t>(from)], damaged[static_cast<std::size_t>(to)]);
      if (random() % 2 == 0) {
        const auto count = std::min<std::ptrdiff_t>(6, std::ssize(damaged) - from);
        damaged.erase(damaged.begin() + from, damaged.begin() + from + count);
      }
    }
    parses(damaged);
  }
}
