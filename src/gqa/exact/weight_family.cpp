#include "gqa/exact/weight_family.hpp"

namespace gqa {
namespace {

Rational whole(std::int64_t value) {
  return Rational(mpz_class(static_cast<long>(value)));
}

Rational uniform(std::int64_t /*head*/, std::int64_t /*key*/) {
  return 1;
}
Rational arithmetic(std::int64_t head, std::int64_t key) {
  return whole(head + key + 1);
}
Rational descending(std::int64_t head, std::int64_t key) {
  return whole(head + 4 - key);
}
Rational powers_of_two(std::int64_t head, std::int64_t key) {
  return whole(std::int64_t{1} << ((head + key) % 4));
}
Rational reciprocals(std::int64_t head, std::int64_t key) {
  return make_rational(1, mpz_class(static_cast<long>(head + key + 1)));
}
Rational primes(std::int64_t head, std::int64_t key) {
  static constexpr std::array<int, 8> list{2, 3, 5, 7, 11, 13, 17, 19};
  return make_rational(list[static_cast<std::size_t>((head + key) % 8)],
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
