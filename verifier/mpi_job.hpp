// One job shared out over the ranks.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cluster.hpp"

namespace gqa::program {

/// The blocks that the journal has not are dealt out in turn, so that each rank has its share
/// of cheap and dear ones. Each rank computes in threads; its main thread hands finished
/// blocks to the first rank, which keeps and merges them as they come. At the end, all have
/// the total, or the error of whoever had one.
class MpiJob {
 public:
  MpiJob(const BlockJob& job, Journal* journal);
  /// Collective. Errors: those of the job and the journal, whichever rank had them.
  AuditTally run();

 private:
  struct Finished {
    std::int64_t block;
    AuditTally tally;
  };

  std::vector<std::int64_t> deal();
  void compute(const std::vector<std::int64_t>& blocks);
  std::deque<Finished> take_finished();
  void serve(std::size_t computing);
  void deliver();
  void communicate();
  void keep(std::int64_t block, const AuditTally& tally);
  void keep_message(const std::string& text);
  void fail(std::exception_ptr error);
  AuditTally outcome();

  const BlockJob& job_;
  Journal* journal_;
  int rank_;
  int size_;
  BlockMerge merge_;

  std::mutex mutex_;
  std::condition_variable news_;
  std::deque<Finished> finished_;
  bool computed_ = false;
  bool stopped_ = false;      // some rank failed: no need to go on
  std::exception_ptr error_;  // of this rank's work
  std::string failure_;       // the first one known to the first rank
};

}  // namespace gqa::program
