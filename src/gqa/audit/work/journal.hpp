// The journal of a long audit: finished blocks, kept so that a killed audit goes on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gqa/audit/work/block_job.hpp"
#include "gqa/audit/work/journal_file.hpp"

namespace gqa {

/// Finished blocks of the jobs of one run, in a file of lines (see JournalFile).
///
/// The first record states the format and the program's version; each job has a record with
/// its identity and number of blocks, each finished block one with its tally. The jobs of a
/// run are asked for in the order in which the journal has them: whatever decides the
/// results must be the same, or the journal is refused and left as it is.
///
/// Errors, all InputError, whose place starts with the file: "journal.mismatch" at "FILE: field"
/// (another format, version, job or input); "journal.damaged" at "FILE: line N"; those of
/// JournalFile.
class Journal {
 public:
  /// Opens the journal, or starts it where there is none or an empty file.
  explicit Journal(const std::filesystem::path& path);

  struct Block {
    std::int64_t block = 0;
    AuditTally tally;
  };
  /// Goes on with the next job of this run: its finished blocks, rising. No two are the same.
  std::vector<Block> start(const BlockJob& job);
  /// Keeps a finished block of the job that was started last.
  void append(std::int64_t block, const AuditTally& tally);

 private:
  struct StoredBlock {
    std::size_t line = 0;
    nlohmann::json record;
  };
  struct StoredJob {
    nlohmann::json record;
    std::vector<StoredBlock> blocks;
  };

  void read_line(std::size_t line, nlohmann::json record);
  void require_same(const nlohmann::json& stored, const nlohmann::json& record) const;
  [[noreturn]] void damaged(std::size_t line, const std::string& message) const;
  [[noreturn]] void mismatch(const std::string& field, const std::string& stored,
                             const std::string& wanted) const;

  JournalFile file_;
  std::vector<StoredJob> jobs_;
  std::size_t started_ = 0;
};

/// Works in this process and keeps every finished block in a journal.
class JournalRunner : public BlockRunner {
 public:
  /// `journal` must outlive the runner.
  explicit JournalRunner(Journal& journal) : journal_(journal) {}
  AuditTally run(const BlockJob& job) override;

 private:
  Journal& journal_;
};

}  // namespace gqa
