#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace gqa::program {

Progress::Progress(std::string label, std::int64_t total)
    : label_(std::move(label)), total_(total), on_terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  clear();
}

void Progress::update(std::int64_t done) {
  if (!on_terminal_ || total_ <= 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (drawn_ && done < total_ && now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  drawn_ = true;
  constexpr std::int64_t width = 30;
  const std::int64_t filled = std::clamp<std::int64_t>(done * width / total_, 0, width);
  fmt::print(stderr, "\r\033[K{} [{:#<{}}{:.<{}}] {}/{}", label_, "", filled, "", width - filled,
             done, total_);
  std::fflush(stderr);
}

void Progress::clear() {
  if (!drawn_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
}

}  // namespace gqa::program
