// A progress bar on a terminal; nothing in a pipe.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace gqa::program {

/// Draws on standard error, only if that is a terminal, at most ten times a second.
/// Calls must not overlap.
class Progress {
 public:
  Progress(std::string label, std::int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(std::int64_t done);

 private:
  void clear();

  std::string label_;
  std::int64_t total_;
  bool on_terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace gqa::program
