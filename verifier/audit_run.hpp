// One audit: its options, its cases, and how recordings become cases.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "cluster.hpp"
#include "gqa/audit/work/journal.hpp"
#include "gqa/error.hpp"
#include "gqa/io/recording.hpp"
#include "gqa/report/audit_report.hpp"
#include "output.hpp"

namespace gqa::program {

/// What the flags of `audit` say, but for those of a live kernel.
struct AuditFlags {
  std::vector<std::string> paths;
  ContractFlags contract;
  OperandFlags operands;
  TensorFlags tensors;
  ToleranceFlags tolerance;
  std::size_t threads = 0;
  bool every_case = false;
  bool no_filter = false;
  bool no_self_check = false;
  bool no_diagnosis = false;
  double diagnosis_seconds = CaseOptions{}.diagnosis_seconds;
  std::int64_t sample = 0;  // 0: all rows
  std::uint64_t seed = 0;
  std::string journal;
  OutputFiles files;
};

// One audit of all paths: what was asked for, and who works on it.
struct Audit {
  const AuditFlags& flags;
  Cluster& cluster;
  Journal* journal = nullptr;  // of the first rank, if one is kept
  std::vector<AuditCase> cases = {};
  // What an interruption tells, beside the cases; all three are read and written under `guard`.
  std::string at = {};  // the recording in work
  double share = 0;     // of its rows, that were audited
  std::mutex guard = {};

  // Pictures for the page, of whoever writes it.
  bool is_drawn() const { return !flags.files.html.empty() && cluster.is_first(); }
  void add(AuditCase entry) {
    const std::lock_guard lock(guard);
    cases.push_back(std::move(entry));
    at.clear();
  }
  void begin(const std::string& path) {
    const std::lock_guard lock(guard);
    at = path;
    share = 0;
  }
  bool is_compared() const { return cluster.size() > 1 || !flags.journal.empty(); }
};

/// Adds one case, or one for each document of a packed recording, after the contract flags.
/// Errors: those of the audit, InputError; SelfCheckError, with the recording's path.
void audit_recording(Recording& recording, Audit& audit);

/// Calls `work` with every recording at a path. What cannot be read, or what `work` refuses by an
/// InputError, is a case of its own, and the rest goes on.
void for_each_recording(const std::string& path, Audit& audit,
                        const std::function<void(Recording&)>& work);

}  // namespace gqa::program
