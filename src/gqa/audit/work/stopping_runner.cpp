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
  BlockMerge merge(job);
  std::size_t done = 0;
  was_late_ = false;
  const auto is_known = [&] {
    const AuditTally& total = merge.total();
    return total.violations > 0 ||
           (stops_without_power_ && done > 0 && total.nulls.shows_nothing());
  };
  for (std::size_t some = first_blocks; done < blocks.size() && !is_known(); some *= 2) {
    if (std::chrono::steady_clock::now() > deadline_) {
      was_late_ = true;
      break;
    }
    const std::size_t count = std::min(some, blocks.size() - done);
    job.run(std::span(blocks).subspan(done, count),
            [&merge](std::int64_t, const AuditTally& tally) { merge.add(tally); });
    done += count;
  }
  return merge.take();
}

}  // namespace gqa
