#include "gqa/io/file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

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

// What the machine could never hold is not asked for: a sparse file states any size, and memory
// that is promised first and missing later ends the process.
void require_room_for(std::uintmax_t bytes, const fs::path& path) {
  const auto memory = static_cast<std::uintmax_t>(sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::uintmax_t>(sysconf(_SC_PAGESIZE));
  if (bytes <= memory) return;
  fail("file.too_large", path,
       fmt::format("has {} bytes, the machine has {} of memory", bytes, memory));
}

template <class Container>
Container read_whole(const fs::path& path) {
  const File file = open_for_reading(path);
  Container content;
  std::error_code no_size;
  const std::uintmax_t expected = fs::file_size(path, no_size);
  if (!no_size) require_room_for(expected, path);
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

// The file that a path means: symbolic links are followed, also to one that is not there yet, as
// writing through them would. (The limit is that of the system for one path.)
fs::path followed(fs::path path) {
  constexpr int most_links = 40;
  std::error_code error;
  for (int links = 0; links < most_links; ++links) {
    const fs::path target = fs::read_symlink(path, error);
    if (error) return path;  // no link
    path = path.parent_path() / target;
  }
  fail("file.unwritable", path, "too many symbolic links");
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
  /// A file that is replaced keeps its owner and its permissions, as far as this user may say.
  void keep_rights_of_target() {
    struct stat rights {};
    if (stat(target_.c_str(), &rights) != 0) return;
    const int descriptor = fileno(file_.get());
    [[maybe_unused]] const int owner = fchown(descriptor, rights.st_uid, rights.st_gid);
    if (fchmod(descriptor, rights.st_mode & 07777) == 0) return;
    fail("file.unwritable", target_, system_reason(errno));
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

void require_writable(const fs::path& path) {
  const fs::path target = followed(path);
  std::error_code error;
  const fs::file_status status = fs::status(target, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    fail("file.unwritable", path, "exists and is not a regular file");
  }
  if (fs::exists(status) && access(target.c_str(), W_OK) != 0) {
    fail("file.unwritable", path, system_reason(errno));
  }
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, error)) {
    fail("file.unwritable", path, folder.string() + " is not a folder that exists");
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    fail("file.unwritable", path, folder.string() + ": " + system_reason(errno));
  }
}

void write_file_atomically(const fs::path& path, std::span<const std::byte> bytes) {
  require_writable(path);
  TemporaryFile file(followed(path));
  file.write(bytes);
  file.keep_rights_of_target();
  file.rename_to_target();
}

void write_file_atomically(const fs::path& path, std::string_view text) {
  write_file_atomically(path, std::as_bytes(std::span(text)));
}

}  // namespace gqa
