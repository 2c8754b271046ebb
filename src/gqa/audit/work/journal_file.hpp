// An append-only file of checked lines.
#pragma once

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace gqa {

/// Lines "CRC32 JSON\n": the checksum of the JSON text in 8 hexadecimal digits, a space, and
/// the record on one line.
///
/// What survives what: a record is handed to the system in one write, so that a killed process
/// loses none that was appended. The system is asked to put them on the disk (fdatasync) at
/// most once a second and at the end, so that a crash of the machine or a loss of power costs
/// about the last second. A last line without its line end was torn and is dropped; any other
/// line that does not match its checksum is an error, never skipped.
///
/// Errors: InputError at the path: "journal.unwritable"; "journal.unreadable"; "journal.in_use"
/// (another process has it open); "journal.damaged" at "PATH: line N".
class JournalFile {
 public:
  /// Opens or creates. The file is locked against other processes until it is closed, and not
  /// changed before the first append.
  explicit JournalFile(const std::filesystem::path& path);
  ~JournalFile();
  JournalFile(const JournalFile&) = delete;
  JournalFile& operator=(const JournalFile&) = delete;

  const std::string& name() const { return name_; }
  /// The whole records. Line numbers start at 1 and are one more than the index.
  const std::vector<nlohmann::json>& records() const { return records_; }
  void forget_records() { records_ = {}; }
  /// Bytes of a torn last line, which the next append drops.
  const std::string& torn() const { return torn_; }

  void append(const nlohmann::json& record);
  /// The line of a record, with its end.
  static std::string line_of(const nlohmann::json& record);

 private:
  std::string read_all() const;
  void parse(const std::string& content);
  void synchronise();

  std::string name_;
  int descriptor_ = -1;
  std::vector<nlohmann::json> records_;
  std::string torn_;
  std::size_t whole_ = 0;  // bytes of whole lines
  bool unsynchronised_ = false;
  std::chrono::steady_clock::time_point synchronised_ = std::chrono::steady_clock::now();
};

}  // namespace gqa
