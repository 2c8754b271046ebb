// A progress bar for people.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace gqa::program {

/// Draws on standard error, only if that is a terminal, at most ten times a second: a bar, the
/// share that is done and how many go by in a second. Calls must not overlap.
class Progress {
 public:
  /// `unit`: what is counted, "rows"; a total of 0 draws nothing.
  Progress(std::string label, std::int64_t total, std::string_view unit = {});
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(std::int64_t done);

 private:
  void clear();

  std::string label_;
  std::string unit_;
  std::int64_t total_;
  bool on_terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_;
};

/// A line on a terminal for work that has no steps to count: how long it has been going on, and the
/// share of the time that it may take, where that is known. It is drawn from its second second on.
class Waiting {
 public:
  /// `limit`: seconds; 0: none is known.
  Waiting(std::string label, double limit);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  void draw();

  std::string label_;
  double limit_;
  std::chrono::steady_clock::time_point start_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_ended_ = false;
  bool drawn_ = false;
  std::thread thread_;
};

}  // namespace gqa::program
