// How many scores of a row may be equal, told from few bits of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace gqa {

/// Tags of the visible scores of one row: scores that may be equal have a tag in common.
///
/// A tag is the number of a cell of width 2^-29. Computed scores of which each is off by at most
/// largest_radius lie in the same cell if the exact ones are equal, or next to the border of two,
/// and then have both tags.
class ScoreTags {
 public:
  static constexpr double largest_radius = 0x1p-36;

  /// Adds scores, of which those that are minus infinity are not visible. Precondition: the others
  /// are below 2^20 in magnitude, or nothing is told.
  void add(const double* scores, std::size_t count);
  void join(const ScoreTags& other);

  /// At least the largest number of equal scores. `scratch` is reused from row to row.
  std::int64_t most_equal(std::vector<std::uint64_t>& scratch) const;

 private:
  // Not a vector: what is written once need not be zero before.
  std::unique_ptr<std::uint32_t[]> tags_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;

  void make_room(std::size_t more);
};

}  // namespace gqa
