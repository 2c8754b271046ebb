// What is read of a history, kept while it is one of those that are asked for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

namespace gqa {

/// As many histories as threads may work on at once.
inline std::size_t histories_at_once() {
  return std::max(1U, std::thread::hardware_concurrency());
}

/// Keeps what was made for the histories that were asked for last: their operands are large.
template <class Reader>
class LatestHistory {
 public:
  /// Keeps the last one alone, or as many as `kept`: histories_at_once() of what is small, so that
  /// threads do not make each other's again and again.
  explicit LatestHistory(std::size_t kept = 1) : kept_(kept) {}

  /// `make` gives a shared_ptr<const Reader> for this history. Called from several threads.
  template <class Make>
  std::shared_ptr<const Reader> of(std::int64_t batch, std::int64_t kv_head, const Make& make) {
    const std::lock_guard lock(mutex_);
    for (auto at = latest_.begin(); at != latest_.end(); ++at) {
      if (at->batch != batch || at->kv_head != kv_head) continue;
      latest_.splice(latest_.begin(), latest_, at);
      return at->reader;
    }
    // Before the next one is made: they are large enough.
    while (latest_.size() >= kept_) latest_.pop_back();
    latest_.push_front({batch, kv_head, make()});
    return latest_.front().reader;
  }

 private:
  struct Entry {
    std::int64_t batch;
    std::int64_t kv_head;
    std::shared_ptr<const Reader> reader;
  };

  std::size_t kept_;
  std::mutex mutex_;
  std::list<Entry> latest_;  // the last one first
};

}  // namespace gqa
