#include "gqa/audit/decide/error_map.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gqa {

ErrorMap::ErrorMap(std::int64_t batch_heads, std::int64_t query_rows)
    : heads(batch_heads), rows(query_rows) {
  if (heads <= 0 || rows <= 0) return;
  heads_per_cell = cells(heads, most_cells);
  const std::int64_t blocks = std::clamp(most_cells / head_cells(), std::int64_t{1}, most_blocks);
  rows_per_cell = cells(rows, blocks);
  const auto count = static_cast<std::size_t>(head_cells() * row_cells());
  largest.assign(count, not_measured);
  violations.assign(count, 0);
}

void ErrorMap::join(std::size_t in_cell, double ulp_error_upper) {
  double& known = largest[in_cell];
  known = std::max(known, ulp_error_upper);
  ++histogram[bucket_of(ulp_error_upper)];
}

void ErrorMap::merge(const ErrorMap& other) {
  for (std::size_t i = 0; i < largest.size(); ++i) {
    largest[i] = std::max(largest[i], other.largest[i]);
    violations[i] += other.violations[i];
  }
  for (std::size_t i = 0; i < buckets; ++i) histogram[i] += other.histogram[i];
}

std::size_t ErrorMap::bucket_of(double ulp_error) {
  constexpr auto last = static_cast<int>(buckets) - 1;
  if (ulp_error <= 0) return 0;
  if (!(ulp_error <= bucket_end(buckets - 2))) return buckets - 1;
  int exponent = 0;
  const double fraction = std::frexp(ulp_error, &exponent);  // in [1/2, 1)
  if (fraction == 0.5) --exponent;                           // a power of two ends its bucket
  return static_cast<std::size_t>(std::clamp(exponent + zero_bucket, 1, last));
}

double ErrorMap::bucket_end(std::size_t bucket) {
  if (bucket == 0) return 0;
  if (bucket >= buckets - 1) return std::numeric_limits<double>::infinity();
  return std::ldexp(1.0, static_cast<int>(bucket) - zero_bucket);
}

}  // namespace gqa
