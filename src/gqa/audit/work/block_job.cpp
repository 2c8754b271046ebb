#include "gqa/audit/work/block_job.hpp"

#include <algorithm>
#include <numeric>

namespace gqa {

void BlockMerge::add(const AuditTally& tally) {
  const std::lock_guard lock(mutex_);
  total_.merge(tally);
  const auto columns = static_cast<std::int64_t>(total_.column_violations.size());
  if (job_.progress && columns > 0) job_.progress(total_.elements / columns);
}

std::vector<std::int64_t> pending_blocks(const BlockJob& job,
                                         const std::vector<std::int64_t>& finished) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(job.count));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  std::vector<std::int64_t> pending;
  std::ranges::set_difference(all, finished, std::back_inserter(pending));
  return pending;
}

AuditTally run_here(const BlockJob& job) {
  BlockMerge merge(job);
  job.run(pending_blocks(job),
          [&merge](std::int64_t, const AuditTally& tally) { merge.add(tally); });
  return merge.take();
}

}  // namespace gqa
