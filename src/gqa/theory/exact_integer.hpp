// 64-bit counts as exact integers.
#pragma once

#include <gmpxx.h>

#include <cstdint>

namespace gqa {

static_assert(sizeof(long) == sizeof(std::int64_t), "GMP takes 64-bit counts as long");

inline mpz_class exact_integer(std::int64_t value) {
  return mpz_class(static_cast<long>(value));
}

/// The quotient rounded up. Precondition: divisor > 0.
inline mpz_class divide_up(const mpz_class& dividend, const mpz_class& divisor) {
  mpz_class quotient;
  mpz_cdiv_q(quotient.get_mpz_t(), dividend.get_mpz_t(), divisor.get_mpz_t());
  return quotient;
}

}  // namespace gqa
