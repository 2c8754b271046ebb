#include "gqa/attention/seen_keys.hpp"

#include <algorithm>
#include <cstring>

namespace gqa {

KeyRange seen_keys(const AttentionProblem& problem, std::int64_t batch) {
  KeyRange seen{0, 0};
  for (std::int64_t i = 0; i < problem.dimensions.queries; ++i) {
    KeyRange range = problem.visibility.range(batch, i);
    range.begin = std::max<std::int64_t>(range.begin, 0);
    if (range.empty()) continue;
    seen = seen.empty()
               ? range
               : KeyRange{std::min(seen.begin, range.begin), std::max(seen.end, range.end)};
  }
  return seen;
}

std::int64_t EqualRows::add(const double* row) {
  const Kind fresh{kinds(), 0};
  return ++kinds_.try_emplace(bytes(row), fresh).first->second.count;
}

std::string EqualRows::bytes(const double* row) const {
  std::string key(static_cast<std::size_t>(width_) * sizeof(double), '\0');
  for (std::int64_t c = 0; c < width_; ++c) {
    const double x = row[c] + 0.0;
    std::memcpy(key.data() + static_cast<std::size_t>(c) * sizeof x, &x, sizeof x);
  }
  return key;
}

RowKinds row_kinds(const History& history, std::int64_t batch, std::int64_t kv_head,
                   KeyRange range) {
  RowKinds kinds{std::vector<std::int64_t>(static_cast<std::size_t>(history.rows()), -1), 0};
  std::vector<double> row(static_cast<std::size_t>(history.width()));
  EqualRows equal(history.width());
  for (std::int64_t j = range.begin; j < range.end; ++j) {
    history.read_rows(batch, kv_head, j, j + 1, row.data(), row.size());
    kinds.most_equal = std::max(kinds.most_equal, equal.add(row.data()));
    kinds.numbers[static_cast<std::size_t>(j)] = equal.kind(row.data());
  }
  return kinds;
}

}  // namespace gqa
