#include "gqa/audit/decide/violating_rows.hpp"

#include <bit>

namespace gqa {

void ViolatingRows::add(std::int64_t place) {
  if (place == latest_) return;
  latest_ = place;
  add_word(place / places_per_word, std::uint64_t{1} << (place % places_per_word));
}

void ViolatingRows::add_word(std::int64_t word, std::uint64_t bits) {
  if (bits != 0) words_[word] |= bits;
}

void ViolatingRows::merge(const ViolatingRows& other) {
  for (const auto& [word, bits] : other.words_) add_word(word, bits);
}

std::int64_t ViolatingRows::size() const {
  std::int64_t count = 0;
  for (const auto& [word, bits] : words_) count += std::popcount(bits);
  return count;
}

bool ViolatingRows::contains(std::int64_t place) const {
  const auto found = words_.find(place / places_per_word);
  return found != words_.end() && (found->second >> (place % places_per_word) & 1) != 0;
}

std::vector<std::int64_t> ViolatingRows::places() const {
  std::vector<std::int64_t> all;
  for (const auto& [word, bits] : words_) {
    for (std::uint64_t rest = bits; rest != 0; rest &= rest - 1) {
      all.push_back(word * places_per_word + std::countr_zero(rest));
    }
  }
  return all;
}

}  // namespace gqa
