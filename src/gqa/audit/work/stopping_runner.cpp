#include "gqa/audit/work/stopping_runner.hpp"

#include <algorithm>
#include <span>

namespace gqa {

void StoppingRunner::ask_verdict_alone(AuditOptions& options) {
  options.runner = this;
  options.prove_violations = false;
  options.all_violations = false;
}

AuditTally StoppingRunner::run(const BlockJob& job) {
  constexpr std::size_t first_blocks = 4;
  const std::vector<std::int64_t> blocks = pending_blocks(job);
  AuditTally total = job.empty;
  std::size_t done = 0;
  was_late_ = false;
  for (std::size_t some = first_blocks; done < blocks.size() && total.violations == 0; some *= 2) {
    if (std::chrono::steady_clock::now() > deadline_) {
      was_late_ = true;
      break;
    }
    const std::size_t count = std::min(some, blocks.size() - done);
    BlockMerge merge(job);
    job.run(std::span(blocks).subspan(done, count),
            [&merge](std::int64_t, const AuditTally& tally) { merge.add(tally); });
    total.merge(merge.take());
    done += count;
  }
  return total;
}

}  // namespace gqa
