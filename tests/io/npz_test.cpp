// Every rule of the .npz reader with its exact code and place.
#include "gqa/io/npz.hpp"

#include <doctest/doctest.h>

#include "io/io_support.hpp"
#include "io/npy_support.hpp"

using namespace gqa;
using namespace gqa::test;

namespace {

const std::string one_byte = npy(npy_dictionary("|u1", "(1,)"), "\x07");

// 8074 bytes of .npy, 1000 zeros of f8, deflated by zlib at level 9, and their CRC-32 by zlib.
constexpr std::uint32_t zeros_size = 8074;
constexpr std::uint32_t zeros_crc = 0xf0cc5189;
constexpr std::string_view zeros_deflated_hex =
    "edc8210ec2301840e16239c5ef7e482a8a2304313537323331451ada06b16c4b8b239c820bafbbc7fbdc7bffc7d0"
    "f5e3c134e6ab219657d69be83d5dd58aa6257fb29f9f4b0e71ffad9f4aacbfbcfd1a6b9f2ece397bb6f21391a301"
    "00000000000000000000006603";

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

ZipEntry zeros() {
  return {"zeros.npy", from_hex(zeros_deflated_hex), zeros_crc, zeros_size, 8, 0};
}

std::map<std::string, TypedTensor> parsed_npz(const std::string& file) {
  return parse_npz(to_bytes(file), "f");
}

void check_npz_refused(const std::string& file, const std::string& code, const std::string& where) {
  check_error([&] { parsed_npz(file); }, code, where);
}

}  // namespace

TEST_CASE("npz: stored and deflated entries are read by their names without .npy") {
  const auto tensors = parsed_npz(zip({ZipEntry::of("query.npy", one_byte), zeros()}));
  REQUIRE(tensors.size() == 2);
  CHECK(decode_integers(tensors.at("query")).data() == std::vector<std::int64_t>{7});
  CHECK(decode(tensors.at("zeros")).data() == std::vector<double>(1000, 0.0));
}

TEST_CASE("npz: what is not a zip archive, or an empty one, is refused") {
  check_npz_refused("", "npz.empty", "f");
  check_npz_refused("PK", "npz.not_a_zip", "f");
  check_npz_refused(one_byte, "npz.not_a_zip", "f");
  const std::string good = zip({ZipEntry::of("q.npy", one_byte)});
  for (std::size_t size = 1; size < good.size(); ++size) {
    CAPTURE(size);
    check_npz_refused(good.substr(0, size), "npz.not_a_zip", "f");
  }
  check_npz_refused(zip({}), "npz.empty", "f");
}

TEST_CASE("npz: names with directories, without .npy or given twice are refused") {
  for (const std::string name :
       {"a/q.npy", "/q.npy", "../q.npy", "a\\q.npy", "q.txt", "q", ".npy", "q.npy/", "q.NPY"}) {
    std::string shown = name;
    if (name == "a\\q.npy") shown = "a\\\\q.npy";
    check_npz_refused(zip({ZipEntry::of(name, one_byte)}), "npz.bad_name", "f: entry " + shown);
  }
  const ZipEntry entry = ZipEntry::of("q.npy", one_byte);
  check_npz_refused(zip({entry, entry}), "npz.duplicate_name", "f");
}

TEST_CASE("npz: other compression methods and encryption are refused") {
  for (const int method : {1, 9, 12, 14, 93}) {
    CAPTURE(method);
    ZipEntry entry = ZipEntry::of("q.npy", one_byte);
    entry.method = static_cast<std::uint16_t>(method);
    check_npz_refused(zip({entry}), "npz.unsupported_entry", "f: entry q.npy");
  }
  ZipEntry entry = ZipEntry::of("q.npy", one_byte);
  entry.flags = 1;
  check_npz_refused(zip({entry}), "npz.unsupported_entry", "f: entry q.npy");
}

TEST_CASE("npz: a declared size that the compressed bytes cannot give is refused unread") {
  ZipEntry stored = ZipEntry::of("q.npy", one_byte);
  stored.size += 1;
  check_npz_refused(zip({stored}), "npz.implausible_size", "f: entry q.npy");
  ZipEntry bomb = zeros();
  bomb.size = 0xfffffff0;
  check_npz_refused(zip({bomb}), "npz.implausible_size", "f: entry zeros.npy");
  // 1032 bytes from each deflated byte are the most there can be.
  const auto bytes = static_cast<std::uint32_t>(bomb.stored.size());
  bomb.size = 1033 * bytes;
  check_npz_refused(zip({bomb}), "npz.implausible_size", "f: entry zeros.npy");
  bomb.size = 1032 * bytes;
  check_npz_refused(zip({bomb}), "npz.corrupt", "f: entry zeros.npy");
}

TEST_CASE("npz: entries that are together larger than the limit are refused unread") {
  // 200 KB that claim to hold 200 MB, where 64 MiB + 64 * 200 KB are allowed.
  const ZipEntry entry{"q.npy", std::string(200'000, 'x'), 0, 200'000'000, 8, 0};
  const InputError error = error_of([&] { parsed_npz(zip({entry})); });
  CHECK(error.code() == "npz.too_large");
  CHECK(error.where() == "f: entry q.npy");
  CHECK(error.message().find("200000000") != std::string::npos);
}

TEST_CASE("npz: content that does not match its size or checksum is corrupt") {
  ZipEntry entry = ZipEntry::of("q.npy", one_byte);
  entry.crc ^= 1;
  check_npz_refused(zip({entry}), "npz.corrupt", "f: entry q.npy");
  for (const int change : {-1, 1, -100}) {
    CAPTURE(change);
    ZipEntry deflated = zeros();
    deflated.size = static_cast<std::uint32_t>(static_cast<int>(zeros_size) + change);
    check_npz_refused(zip({deflated}), "npz.corrupt", "f: entry zeros.npy");
  }
}

TEST_CASE("npz: an error inside a tensor names the entry") {
  const std::string bad = npy(npy_dictionary("<V2", "(1,)"), "ab");
  check_npz_refused(zip({ZipEntry::of("key.npy", bad)}), "npy.ambiguous_dtype",
                    "f: entry key.npy: header: descr");
}

TEST_CASE("npz: any flipped byte gives an error of the reader or another valid file") {
  const std::string good = zip({ZipEntry::of("q.npy", one_byte), zeros()});
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const int flip : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      CAPTURE(i);
      CAPTURE(flip);
      std::string damaged = good;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      const InputError error = error_of([&] { parsed_npz(damaged); });
      CHECK((error.code() == "none" || error.code().starts_with("npz.") ||
             error.code().starts_with("npy.")));
    }
  }
}
