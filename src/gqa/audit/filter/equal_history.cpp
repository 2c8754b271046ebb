#include "gqa/audit/filter/equal_history.hpp"

#include <algorithm>

namespace gqa {
namespace {

std::int64_t longest_run(std::vector<double>& numbers) {
  std::ranges::sort(numbers);
  std::int64_t longest = 0, run = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    run = i > 0 && numbers[i] == numbers[i - 1] ? run + 1 : 1;
    longest = std::max(longest, run);
  }
  return longest;
}

std::vector<std::int64_t> most_equal_in_columns(const History& values, std::int64_t batch,
                                                std::int64_t kv_head, KeyRange seen) {
  const auto width = static_cast<std::size_t>(values.width());
  const auto rows = static_cast<std::size_t>(seen.end - seen.begin);
  std::vector<double> all(rows * width);
  values.read_rows(batch, kv_head, seen.begin, seen.end, all.data(), width);
  std::vector<std::int64_t> most;
  std::vector<double> column(rows);
  for (std::size_t c = 0; c < width; ++c) {
    for (std::size_t j = 0; j < rows; ++j) column[j] = all[j * width + c];
    // What is no number leaves its rows to enclosures.
    std::ranges::replace_if(
        column, [](double x) { return !(x == x); }, 0.0);
    most.push_back(longest_run(column));
  }
  return most;
}

}  // namespace

EqualHistory::EqualHistory(const AttentionProblem& problem, std::int64_t batch,
                           std::int64_t kv_head, bool columns) {
  const KeyRange seen = seen_keys(problem, batch);
  keys = row_kinds(problem.key, batch, kv_head, seen);
  values = row_kinds(problem.value, batch, kv_head, seen);
  if (columns) most_equal_values = most_equal_in_columns(problem.value, batch, kv_head, seen);
}

}  // namespace gqa
