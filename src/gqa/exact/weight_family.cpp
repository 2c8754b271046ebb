#include "gqa/exact/weight_family.hpp"

namespace gqa {
namespace {

WordFraction uniform(std::int64_t /*head*/, std::int64_t /*key*/) {
  return {1, 1};
}
WordFraction arithmetic(std::int64_t head, std::int64_t key) {
  return {head + key + 1, 1};
}
WordFraction descending(std::int64_t head, std::int64_t key) {
  return {head + 4 - key, 1};
}
WordFraction powers_of_two(std::int64_t head, std::int64_t key) {
  return {std::int64_t{1} << ((head + key) % 4), 1};
}
WordFraction reciprocals(std::int64_t head, std::int64_t key) {
  return {1, head + key + 1};
}
WordFraction primes(std::int64_t head, std::int64_t key) {
  static constexpr std::array<std::int64_t, 8> list{2, 3, 5, 7, 11, 13, 17, 19};
  return WordFraction::reduced(list[static_cast<std::size_t>((head + key) % 8)],
                               list[static_cast<std::size_t>((key + 3) % 8)]);
}

}  // namespace

const std::array<WeightFamily, 6> weight_families{{{"uniform", uniform},
                                                   {"arithmetic", arithmetic},
                                                   {"descending", descending},
                                                   {"powers_of_two", powers_of_two},
                                                   {"reciprocals", reciprocals},
                                                   {"primes", primes}}};

}  // namespace gqa
