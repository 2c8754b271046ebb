#include "gqa/audit/work/row_selection.hpp"

#include <algorithm>
#include <set>

#include "gqa/num/split_mix.hpp"

namespace gqa {
std::int64_t row_count(const Dimensions& dimensions) {
  return dimensions.batch * dimensions.q_heads * dimensions.queries;
}

std::vector<std::int64_t> sampled_numbers(const RowSample& sample, std::int64_t of) {
  SplitMix64 random(sample.seed);
  std::set<std::int64_t> chosen;
  for (std::int64_t last = of - std::min(sample.rows, of); last < of; ++last) {
    const auto drawn =
        static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(last) + 1));
    if (!chosen.insert(drawn).second) chosen.insert(last);
  }
  return {chosen.begin(), chosen.end()};
}

void append_run(std::vector<RowRun>& runs, RowRun run) {
  if (!runs.empty() && runs.back().head == run.head && runs.back().end == run.begin) {
    runs.back().end = run.end;
  } else {
    runs.push_back(run);
  }
}

std::vector<std::vector<RowRun>> selected_rows(const AttentionProblem& problem,
                                               const std::optional<RowSample>& sample) {
  const Dimensions& d = problem.dimensions;
  std::vector<std::vector<RowRun>> histories(static_cast<std::size_t>(d.batch * d.kv_heads));
  const auto append = [&](std::int64_t batch, const RowRun& run) {
    const std::int64_t kv_head = problem.head_map[static_cast<std::size_t>(run.head)];
    append_run(histories[static_cast<std::size_t>(batch * d.kv_heads + kv_head)], run);
  };
  if (sample) {
    for (const std::int64_t number : sampled_numbers(*sample, row_count(d))) {
      const std::int64_t row = number % d.queries;
      append(number / d.queries / d.q_heads, {number / d.queries % d.q_heads, row, row + 1});
    }
    return histories;
  }
  for (std::int64_t batch = 0; batch < d.batch && d.queries > 0; ++batch) {
    for (std::int64_t head = 0; head < d.q_heads; ++head) append(batch, {head, 0, d.queries});
  }
  return histories;
}

}  // namespace gqa
