#include "gqa/audit/work/journal_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <system_error>

#include "gqa/audit/work/problem_digest.hpp"
#include "gqa/error.hpp"

namespace gqa {
namespace {

[[noreturn]] void fail(const char* code, const std::string& where, int reason) {
  throw InputError(code, where, std::generic_category().message(reason));
}

void lock_or_refuse(int descriptor, const std::string& name) {
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) return;
  // Some file systems know no locks; then nothing guards against a second process.
  if (errno == EWOULDBLOCK) {
    throw InputError("journal.in_use", name, "another process has this journal open");
  }
}

constexpr std::size_t checksum_digits = 8;

// The record of a line without its end; nullopt if the checksum or the form is wrong.
std::optional<nlohmann::json> record_of(std::string_view line) {
  if (line.size() < checksum_digits + 1 || line[checksum_digits] != ' ') return std::nullopt;
  const std::string_view text = line.substr(checksum_digits + 1);
  if (line.substr(0, checksum_digits) != fmt::format("{:08x}", crc32(text))) return std::nullopt;
  auto record = nlohmann::json::parse(text, nullptr, false);
  if (!record.is_object()) return std::nullopt;
  return record;
}

}  // namespace

JournalFile::JournalFile(const std::filesystem::path& path) : name_(path.string()) {
  descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail("journal.unwritable", name_, errno);
  try {
    struct stat status {};
    if (fstat(descriptor_, &status) != 0) fail("journal.unreadable", name_, errno);
    if (!S_ISREG(status.st_mode)) {
      throw InputError("journal.unwritable", name_, "exists and is not a regular file");
    }
    lock_or_refuse(descriptor_, name_);
    parse(read_all());
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

JournalFile::~JournalFile() {
  if (unsynchronised_) fdatasync(descriptor_);
  close(descriptor_);
}

std::string JournalFile::read_all() const {
  std::string content;
  std::string buffer(1U << 16, '\0');
  while (true) {
    const ssize_t got =
        pread(descriptor_, buffer.data(), buffer.size(), static_cast<off_t>(content.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("journal.unreadable", name_, errno);
    if (got == 0) return content;
    content.append(buffer, 0, static_cast<std::size_t>(got));
  }
}

void JournalFile::parse(const std::string& content) {
  while (true) {
    const std::size_t end = content.find('\n', whole_);
    if (end == std::string::npos) break;
    auto record = record_of(std::string_view(content).substr(whole_, end - whole_));
    if (!record) {
      throw InputError("journal.damaged", fmt::format("{}: line {}", name_, records_.size() + 1),
                       "does not match its checksum; the journal cannot be used");
    }
    records_.push_back(std::move(*record));
    whole_ = end + 1;
  }
  torn_ = content.substr(whole_);
}

std::string JournalFile::line_of(const nlohmann::json& record) {
  const std::string text = record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return fmt::format("{:08x} {}\n", crc32(text), text);
}

void JournalFile::append(const nlohmann::json& record) {
  if (!torn_.empty()) {
    if (ftruncate(descriptor_, static_cast<off_t>(whole_)) != 0) {
      fail("journal.unwritable", name_, errno);
    }
    torn_.clear();
  }
  const std::string line = line_of(record);
  // One write; the loop is for signals and full disks, which may split it.
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t written = write(descriptor_, line.data() + done, line.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("journal.unwritable", name_, errno);
    done += static_cast<std::size_t>(written);
  }
  whole_ += line.size();
  unsynchronised_ = true;
  synchronise();
}

void JournalFile::synchronise() {
  const auto now = std::chrono::steady_clock::now();
  if (now - synchronised_ < std::chrono::seconds(1)) return;
  if (fdatasync(descriptor_) != 0) fail("journal.unwritable", name_, errno);
  synchronised_ = now;
  unsynchronised_ = false;
}

}  // namespace gqa
