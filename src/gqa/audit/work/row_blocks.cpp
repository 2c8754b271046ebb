#include "gqa/audit/work/row_blocks.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>

namespace gqa {
namespace {

constexpr std::int64_t block_rows = 16;

void cut(const std::vector<RowRun>& selected, RowBlock block, std::vector<RowBlock>& blocks) {
  std::int64_t room = block_rows;
  for (RowRun run : selected) {
    while (run.size() > 0) {
      const std::int64_t taken = std::min(room, run.size());
      block.runs.push_back({run.head, run.begin, run.begin + taken});
      run.begin += taken;
      room -= taken;
      if (room > 0) continue;
      blocks.push_back(block);
      block.runs.clear();
      room = block_rows;
    }
  }
  if (!block.runs.empty()) blocks.push_back(block);
}

AuditTally tally_of(const RowBlock& block, const AuditRow& audit_row, const AuditTally& empty) {
  AuditTally tally = empty;
  for (const RowRun& run : block.runs) {
    for (std::int64_t row = run.begin; row < run.end; ++row) audit_row(run.head, row, tally);
  }
  return tally;
}

using Blocks = std::span<const std::int64_t>;

// Blocks of one history stand together, so that each history is opened once.
std::vector<Blocks> by_history(const std::vector<RowBlock>& plan, Blocks wanted) {
  std::vector<Blocks> groups;
  const auto history = [&plan](std::int64_t block) {
    const RowBlock& of = plan[static_cast<std::size_t>(block)];
    return std::pair(of.batch, of.kv_head);
  };
  for (std::size_t begin = 0; begin < wanted.size();) {
    std::size_t end = begin + 1;
    while (end < wanted.size() && history(wanted[end]) == history(wanted[begin])) ++end;
    groups.push_back(wanted.subspan(begin, end - begin));
    begin = end;
  }
  return groups;
}

}  // namespace

std::vector<RowBlock> plan_row_blocks(const AttentionProblem& problem,
                                      const std::optional<RowSample>& sample) {
  const std::int64_t kv_heads = problem.dimensions.kv_heads;
  const auto histories = selected_rows(problem, sample);
  std::vector<RowBlock> blocks;
  for (std::size_t h = 0; h < histories.size(); ++h) {
    const auto history = static_cast<std::int64_t>(h);
    cut(histories[h], {history / kv_heads, history % kv_heads, {}}, blocks);
  }
  return blocks;
}

void work_on_rows(BlockJob& job, std::vector<RowBlock> blocks, OpenHistory open) {
  job.count = static_cast<std::int64_t>(blocks.size());
  job.run = [plan = std::move(blocks), open = std::move(open), empty = job.empty](
                Blocks wanted, const FinishBlock& finish) {
    const std::vector<Blocks> groups = by_history(plan, wanted);
    tbb::parallel_for(std::size_t{0}, groups.size(), [&](std::size_t g) {
      const Blocks group = groups[g];
      const RowBlock& first = plan[static_cast<std::size_t>(group.front())];
      const AuditRow audit_row = open(first.batch, first.kv_head);
      tbb::parallel_for(std::size_t{0}, group.size(), [&](std::size_t i) {
        finish(group[i], tally_of(plan[static_cast<std::size_t>(group[i])], audit_row, empty));
      });
    });
  };
}

}  // namespace gqa
