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

std::string EqualRows::bytes(const double* row) const {
  std::string key(static_cast<std::size_t>(width_) * sizeof(double), '\0');
  for (std::int64_t c = 0; c < width_; ++c) {
    const double x = row[c] + 0.0;
    std::memcpy(key.data() + static_cast<std::size_t>(c) * sizeof x, &x, sizeof x);
  }
  return key;
}

}  // namespace gqa
