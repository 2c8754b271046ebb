#include "gqa/io/file.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>

#include "io/io_support.hpp"

using namespace gqa;
using namespace gqa::test;

TEST_CASE("file: what is written is read back, at sizes around the buffer") {
  const TemporaryDirectory directory;
  for (const std::size_t size : {0UL, 1UL, 65535UL, 65536UL, 65537UL, 300000UL}) {
    CAPTURE(size);
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i % 251);
    write_file_atomically(directory / "data", bytes);
    CHECK(read_file(directory / "data") == bytes);
  }
  write_file_atomically(directory / "text", std::string_view("a\0b\n", 4));
  CHECK(read_text_file(directory / "text") == std::string("a\0b\n", 4));
  CHECK(directory.entries() == 2);
}

TEST_CASE("file: writing replaces the whole old content and leaves no temporary file") {
  const TemporaryDirectory directory;
  write_file_atomically(directory / "data", "a long first content");
  write_file_atomically(directory / "data", "short");
  CHECK(read_text_file(directory / "data") == "short");
  CHECK(directory.entries() == 1);
}

TEST_CASE("file: a missing file is not found, a directory and a device are unreadable") {
  const TemporaryDirectory directory;
  const std::filesystem::path missing = directory / "missing";
  const InputError not_found = error_of([&] { read_file(missing); });
  CHECK(not_found.code() == "file.not_found");
  CHECK(not_found.where() == missing.string());
  const InputError is_directory = error_of([&] { read_file(directory / "."); });
  CHECK(is_directory.code() == "file.unreadable");
  CHECK(is_directory.where() == (directory / ".").string());
  const InputError device = error_of([] { read_file("/dev/zero"); });
  CHECK(device.code() == "file.unreadable");
  CHECK(device.where() == "/dev/zero");
  write_file_atomically(directory / "data", "x");
  const InputError below_file = error_of([&] { read_file(directory / "data/below"); });
  CHECK(below_file.code() == "file.not_found");
}

TEST_CASE("file: a file without read permission is unreadable") {
  if (geteuid() == 0) return;  // Root may read everything.
  const TemporaryDirectory directory;
  write_file_atomically(directory / "secret", "x");
  std::filesystem::permissions(directory / "secret", std::filesystem::perms::none);
  const InputError error = error_of([&] { read_file(directory / "secret"); });
  CHECK(error.code() == "file.unreadable");
  CHECK(error.where() == (directory / "secret").string());
}

TEST_CASE("file: a failed write reports the target and leaves nothing behind") {
  const TemporaryDirectory directory;
  const std::filesystem::path nowhere = directory / "missing/data";
  const InputError no_directory = error_of([&] { write_file_atomically(nowhere, "x"); });
  CHECK(no_directory.code() == "file.unwritable");
  CHECK(no_directory.where() == nowhere.string());
  std::filesystem::create_directory(directory / "taken");
  const InputError taken = error_of([&] { write_file_atomically(directory / "taken", "x"); });
  CHECK(taken.code() == "file.unwritable");
  CHECK(taken.where() == (directory / "taken").string());
  CHECK(directory.entries() == 1);
  // The name is too long to rename to, which shows only after the content is written.
  const std::filesystem::path too_long = directory / std::string(300, 'n');
  const InputError long_name = error_of([&] { write_file_atomically(too_long, "x"); });
  CHECK(long_name.code() == "file.unwritable");
  CHECK(long_name.where() == too_long.string());
  CHECK(directory.entries() == 1);
}

TEST_CASE("file: a device is never replaced by a file") {
  const InputError error = error_of([] { write_file_atomically("/dev/null", "x"); });
  CHECK(error.code() == "file.unwritable");
  CHECK(error.where() == "/dev/null");
  CHECK(std::filesystem::is_character_file("/dev/null"));
}

TEST_CASE("file: symbolic links are written through, also to a file that is not there yet") {
  const TemporaryDirectory directory;
  namespace fs = std::filesystem;
  write_file_atomically(directory / "data", "old");
  fs::create_symlink("data", directory / "link");
  fs::create_symlink("link", directory / "link to link");
  write_file_atomically(directory / "link to link", "new");
  CHECK(fs::is_symlink(directory / "link"));
  CHECK(fs::is_symlink(directory / "link to link"));
  CHECK(read_text_file(directory / "data") == "new");
  fs::create_symlink("absent", directory / "to absent");
  write_file_atomically(directory / "to absent", "made");
  CHECK(read_text_file(directory / "absent") == "made");
  fs::create_symlink("loop", directory / "loop");
  CHECK(refusal_of([&] { write_file_atomically(directory / "loop", "x"); }) ==
        "file.unwritable at " + (directory / "loop").string());
}

TEST_CASE("file: a file that is replaced keeps its permissions") {
  const TemporaryDirectory directory;
  namespace fs = std::filesystem;
  write_file_atomically(directory / "data", "old");
  for (const auto rights : {fs::perms(0600), fs::perms(0640), fs::perms(0755)}) {
    fs::permissions(directory / "data", rights);
    write_file_atomically(directory / "data", "new");
    CHECK(fs::status(directory / "data").permissions() == rights);
  }
}

TEST_CASE("file: what cannot be written is known before there is anything to write") {
  const TemporaryDirectory directory;
  const auto refusal = [](const std::filesystem::path& path) {
    return refusal_of([&] { require_writable(path); });
  };
  CHECK(refusal(directory / "new") == "none");
  write_file_atomically(directory / "data", "x");
  CHECK(refusal(directory / "data") == "none");
  CHECK(directory.entries() == 1);
  const std::string code = "file.unwritable at ";
  CHECK(refusal(directory / "no/data") == code + (directory / "no/data").string());
  CHECK(refusal(directory / ".") == code + (directory / ".").string());
  CHECK(refusal("/dev/null") == code + "/dev/null");
}

TEST_CASE("file: a size that no memory has is refused before any is asked for") {
  const TemporaryDirectory directory;
  const std::filesystem::path sparse = directory / "sparse";
  write_file_atomically(sparse, "x");
  std::error_code error;
  std::filesystem::resize_file(sparse, std::uintmax_t{1} << 43, error);
  if (error) return;  // a file system without sparse files
  CHECK(refusal_of([&] { read_file(sparse); }) == "file.too_large at " + sparse.string());
}
