#include "gqa/audit/filter/score_tags.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace gqa {
namespace {

// Added, it leaves multiples of a cell: the lowest bits of the sum number them.
constexpr double to_cells = 0x1.8p52 * 0x1p-29;
constexpr double cell = 0x1p-29;

// The cells of a number, and of one a few cells away, differ in the low bits; those far away are
// mixed in.
std::uint32_t tag_of(double shifted) {
  const auto bits = std::bit_cast<std::uint64_t>(shifted);
  return static_cast<std::uint32_t>(bits) ^
         static_cast<std::uint32_t>(bits >> 32) * std::uint32_t{0x9E3779B9};
}

}  // namespace

void ScoreTags::make_room(std::size_t more) {
  if (size_ + more <= capacity_) return;
  capacity_ = std::max(2 * capacity_, size_ + more);
  auto tags = std::make_unique_for_overwrite<std::uint32_t[]>(capacity_);
  std::copy_n(tags_.get(), size_, tags.get());
  tags_ = std::move(tags);
}

void ScoreTags::add(const double* scores, std::size_t count) {
  make_room(2 * count);
  std::uint32_t* to = tags_.get() + size_;
  for (std::size_t j = 0; j < count; ++j) {
    const double score = scores[j];
    if (score == -std::numeric_limits<double>::infinity()) continue;
    const double shifted = score + to_cells;
    const double from_centre = score - (shifted - to_cells);
    to[0] = tag_of(shifted);
    // Written always and kept at the border: no branch that is seldom guessed.
    to[1] = tag_of(shifted + std::copysign(cell, from_centre));
    to += std::abs(from_centre) > cell / 2 - 3 * largest_radius ? 2 : 1;
  }
  size_ = static_cast<std::size_t>(to - tags_.get());
}

void ScoreTags::join(const ScoreTags& other) {
  make_room(other.size_);
  std::copy_n(other.tags_.get(), other.size_, tags_.get() + size_);
  size_ += other.size_;
}

// Tags that a table of bits has seen before, and those that meet them there, are few: these alone
// are sorted and counted.
std::int64_t ScoreTags::most_equal(std::vector<std::uint64_t>& scratch) const {
  if (size_ == 0) return 0;
  const std::size_t words = std::bit_ceil(size_ / 2 + 1);
  scratch.assign(2 * words, 0);
  std::uint64_t* seen = scratch.data();
  std::uint64_t* again = seen + words;
  const auto place = [words](std::uint32_t tag) {
    const std::uint32_t mixed = tag * std::uint32_t{0x9E3779B1};
    return std::pair((mixed >> 6) & (words - 1), std::uint64_t{1} << (mixed & 63));
  };
  bool any = false;
  for (std::size_t i = 0; i < size_; ++i) {
    const auto [word, bit] = place(tags_[i]);
    if ((seen[word] & bit) != 0) [[unlikely]] {
      again[word] |= bit;
      any = true;
    }
    seen[word] |= bit;
  }
  if (!any) return 1;
  std::vector<std::uint32_t> some;
  for (std::size_t i = 0; i < size_; ++i) {
    const auto [word, bit] = place(tags_[i]);
    if ((again[word] & bit) != 0) some.push_back(tags_[i]);
  }
  std::ranges::sort(some);
  std::int64_t most = 1;
  for (std::size_t begin = 0, i = 1; i <= some.size(); ++i) {
    if (i < some.size() && some[i] == some[begin]) continue;
    most = std::max(most, static_cast<std::int64_t>(i - begin));
    begin = i;
  }
  return most;
}

}  // namespace gqa
