#include "gqa/audit/work/stopping_runner.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace gqa;

namespace {

struct Seen {
  std::vector<std::int64_t> blocks;
  std::vector<std::int64_t> progress;  // rows
};

// 40 blocks of one row; `in_block` says what is found there.
BlockJob job_of(Seen& seen, const std::function<void(std::int64_t, AuditTally&)>& in_block) {
  BlockJob job{"output", {}, 40, AuditTally(1, 1, 40, 1), {}, {}};
  job.run = [&seen, in_block](std::span<const std::int64_t> blocks, const FinishBlock& finish) {
    for (const std::int64_t block : blocks) {
      seen.blocks.push_back(block);
      AuditTally tally(1, 1, 40, 1);
      tally.elements = 1;
      in_block(block, tally);
      finish(block, tally);
    }
  };
  job.progress = [&seen](std::int64_t rows) { seen.progress.push_back(rows); };
  return job;
}

void refute(AuditTally& tally, bool zeros) {
  NullRow row;
  row.add(1, zeros ? 0.1 : 9);
  row.add_to(tally.nulls);
}

}  // namespace

TEST_CASE(
    "stopping_runner: without a violation every block is worked on once, in rising progress") {
  Seen seen;
  StoppingRunner runner;
  const AuditTally total =
      runner.run(job_of(seen, [](std::int64_t, AuditTally& t) { refute(t, false); }));
  CHECK(total.elements == 40);
  CHECK(seen.blocks.size() == 40);
  CHECK(std::ranges::is_sorted(seen.progress));
  CHECK(seen.progress.back() == 40);
}

TEST_CASE("stopping_runner: a violation ends the work after the blocks that were begun with it") {
  Seen seen;
  StoppingRunner runner;
  const AuditTally total = runner.run(job_of(seen, [](std::int64_t block, AuditTally& tally) {
    if (block == 5) tally.add_violation(0, 5, 0);
  }));
  CHECK(total.violations == 1);
  CHECK(total.elements == 12);
}

TEST_CASE("stopping_runner: where null outputs would pass, an audit without power ends at once") {
  const auto elements = [](std::int64_t shown_from) {
    Seen seen;
    StoppingRunner runner;
    runner.stop_without_power();
    const AuditTally total = runner.run(job_of(
        seen, [&](std::int64_t block, AuditTally& tally) { refute(tally, block >= shown_from); }));
    CHECK(total.nulls.shows_nothing() == (shown_from >= 4));
    return total.elements;
  };
  CHECK(elements(0) == 40);
  CHECK(elements(3) == 40);
  CHECK(elements(4) == 4);
}
