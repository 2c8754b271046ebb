// Which rows of an output hold a violation: all of them, in space that follows their number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace gqa {

/// A set of rows of an output [B, H, T, ...], each by its place (b * H + h) * T + row.
///
/// A union of sets: rows may be added, and sets merged, in any order. Kept as words of 64 places,
/// so that an output that is wrong everywhere costs two bits a row and one that is right nothing.
class ViolatingRows {
 public:
  static constexpr std::int64_t places_per_word = 64;
  using Words = std::map<std::int64_t, std::uint64_t>;

  /// Precondition: place >= 0.
  void add(std::int64_t place);
  void merge(const ViolatingRows& other);
  /// Joins the places of one word: bit k is place places_per_word * word + k.
  void add_word(std::int64_t word, std::uint64_t bits);

  bool empty() const { return words_.empty(); }
  std::int64_t size() const;
  bool contains(std::int64_t place) const;
  /// All of them, rising.
  std::vector<std::int64_t> places() const;
  const Words& words() const { return words_; }

 private:
  Words words_;
  std::int64_t latest_ = -1;  // the elements of a row come one after the other
};

}  // namespace gqa
