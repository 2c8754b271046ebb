#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "gqa/printable.hpp"

namespace gqa::program {
namespace {

// A terminal that went away is no reason to end the work.
void show(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

Progress::Progress(std::string label, std::int64_t total)
    : label_(printable_line(label)), total_(total), on_terminal_(isatty(STDERR_FILENO) == 1) {}

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
  show(fmt::format("\r\033[K{} [{:#<{}}{:.<{}}] {}/{}", label_, "", filled, "", width - filled,
                   done, total_));
}

void Progress::clear() {
  if (!drawn_) return;
  show("\r\033[K");
}

}  // namespace gqa::program
