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

bool shows_progress() {
  return isatty(STDERR_FILENO) == 1;
}

// "1,234 rows/s".
std::string rate_text(std::int64_t done, double seconds, const std::string& unit) {
  constexpr double shortest = 0.3;  // before that a rate says nothing
  if (seconds < shortest || done == 0) return "";
  const double rate = static_cast<double>(done) / seconds;
  return rate < 10 ? fmt::format(", {:.1f} {}/s", rate, unit)
                   : fmt::format(", {:.0f} {}/s", rate, unit);
}

}  // namespace

Progress::Progress(std::string label, std::int64_t total, std::string_view unit)
    : label_(printable_line(label)),
      unit_(unit.empty() ? label_ : std::string(unit)),
      total_(total),
      on_terminal_(shows_progress()),
      start_(std::chrono::steady_clock::now()) {}

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
  const double seconds = std::chrono::duration<double>(now - start_).count();
  show(fmt::format("\r\033[K{} [{:#<{}}{:.<{}}] {} %, {}/{}{}", label_, "", filled, "",
                   width - filled, done * 100 / total_, done, total_,
                   rate_text(done, seconds, unit_)));
}

void Progress::clear() {
  if (!drawn_) return;
  show("\r\033[K");
}

Waiting::Waiting(std::string label, double limit)
    : label_(printable_line(label)), limit_(limit), start_(std::chrono::steady_clock::now()) {
  if (!shows_progress()) return;
  thread_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, std::chrono::seconds(1), [this] { return is_ended_; })) draw();
  });
}

Waiting::~Waiting() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_ended_ = true;
  }
  ended_.notify_one();
  thread_.join();
  if (drawn_) show("\r\033[K");
}

void Waiting::draw() {
  drawn_ = true;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  std::string text = fmt::format("\r\033[K{}: {:.0f} s", label_, seconds);
  if (limit_ > 0) {
    text += fmt::format(" of at most {:.0f} ({:.0f} %)", limit_,
                        std::min(100.0, 100 * seconds / limit_));
  }
  show(text);
}

}  // namespace gqa::program
