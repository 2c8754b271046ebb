#include "gqa/io/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <system_error>

#include "gqa/error.hpp"

namespace gqa {
namespace {

namespace fs = std::filesystem;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

[[noreturn]] void fail(const char* code, const fs::path& path, const std::string& reason) {
  throw InputError(code, path.string(), reason);
}

std::string system_reason(int error) {
  return std::generic_category().message(error);
}

File open_for_reading(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    fail("file.not_found", path, "there is no such file");
  }
  if (error) fail("file.unreadable", path, error.message());
  if (status.type() == fs::file_type::directory) {
    fail("file.unreadable", path, "is a directory, expected a file");
  }
  // A device may have no end; a pipe is what "<(command)" gives.
  if (status.type() != fs::file_type::regular && status.type() != fs::file_type::fifo) {
    fail("file.unreadable", path, "is neither a regular file nor a pipe");
  }
  File file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) fail("file.unreadable", path, system_reason(errno));
  return file;
}

template <class Container>
Container read_whole(const fs::path& path) {
  const File file = open_for_reading(path);
  Container content;
  std::error_code no_size;
  const std::uintmax_t expected = fs::file_size(path, no_size);
  std::size_t used = 0;
  // One byte beyond the expected size lets the first read see the end.
  std::size_t room = no_size ? 65536 : static_cast<std::size_t>(expected) + 1;
  while (true) {
    content.resize(used + room);
    const std::size_t got = std::fread(content.data() + used, 1, room, file.get());
    used += got;
    if (got < room) break;
    room = std::max<std::size_t>(65536, used);
  }
  if (std::ferror(file.get()) != 0) fail("file.unreadable", path, "reading failed");
  content.resize(used);
  return content;
}

// Exists until it is renamed; removed if that never happens.
class TemporaryFile {
 public:
  explicit TemporaryFile(const fs::path& target) : target_(target) {
    std::random_device random;
    const fs::path file_name = fmt::format(".gqaverify-{:08x}{:08x}.tmp", random(), random());
    path_ = target.parent_path() / file_name;
    file_.reset(std::fopen(path_.c_str(), "wbx"));
    if (file_ == nullptr) fail("file.unwritable", target_, system_reason(errno));
  }
  ~TemporaryFile() {
    if (renamed_) return;
    file_.reset();
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(std::span<const std::byte> bytes) {
    if (bytes.empty()) return;  // fwrite must not be given a null pointer
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) {
      fail("file.unwritable", target_, system_reason(errno));
    }
  }
  void rename_to_target() {
    // Closing writes what is still buffered, and may be where a full disk shows.
    if (std::fclose(file_.release()) != 0) fail("file.unwritable", target_, system_reason(errno));
    std::error_code error;
    fs::rename(path_, target_, error);
    if (error) fail("file.unwritable", target_, error.message());
    renamed_ = true;
  }

 private:
  fs::path target_;
  fs::path path_;
  File file_;
  bool renamed_ = false;
};

}  // namespace

std::vector<std::byte> read_file(const fs::path& path) {
  return read_whole<std::vector<std::byte>>(path);
}

std::string read_text_file(const fs::path& path) {
  return read_whole<std::string>(path);
}

void write_file_atomically(const fs::path& path, std::span<const std::byte> bytes) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    fail("file.unwritable", path, "exists and is not a regular file");
  }
  TemporaryFile file(path);
  file.write(bytes);
  file.rename_to_target();
}

void write_file_atomically(const fs::path& path, std::string_view text) {
  write_file_atomically(path, std::as_bytes(std::span(text)));
}

}  // namespace gqa
