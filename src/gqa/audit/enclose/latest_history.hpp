// What is read of a history, kept while it is the one that is asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

namespace gqa {

/// Keeps what was made for the history that was asked for last: its operands are large.
template <class Reader>
class LatestHistory {
 public:
  /// `make` gives a shared_ptr<const Reader> for this history. Called from several threads.
  template <class Make>
  std::shared_ptr<const Reader> of(std::int64_t batch, std::int64_t kv_head, const Make& make) {
    const std::lock_guard lock(mutex_);
    if (!latest_ || batch != batch_ || kv_head != kv_head_) {
      latest_.reset();  // before the next one is made: one is large enough
      latest_ = make();
      batch_ = batch;
      kv_head_ = kv_head;
    }
    return latest_;
  }

 private:
  std::mutex mutex_;
  std::int64_t batch_ = -1;
  std::int64_t kv_head_ = -1;
  std::shared_ptr<const Reader> latest_;
};

}  // namespace gqa
