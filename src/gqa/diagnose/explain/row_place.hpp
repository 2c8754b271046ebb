// Where a row of an output is.
#pragma once

#include <cstdint>

namespace gqa {

/// An element's place: batch, query head, query row.
struct RowPlace {
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t row = 0;
  friend bool operator==(const RowPlace&, const RowPlace&) = default;
};

}  // namespace gqa
