#include "gqa/num/weighted_mean.hpp"

namespace gqa {
namespace {

void raise_to_multiple(mpz_class& common, const mpz_class& denominator) {
  if (denominator == 1 || denominator == common) return;
  mpz_lcm(common.get_mpz_t(), common.get_mpz_t(), denominator.get_mpz_t());
}

// value * common, which is an integer because common is a multiple of the denominator.
mpz_class cleared(const Rational& value, const mpz_class& common) {
  if (value.get_den() == common) return value.get_num();
  mpz_class factor;
  mpz_divexact(factor.get_mpz_t(), common.get_mpz_t(), value.get_den_mpz_t());
  factor *= value.get_num();
  return factor;
}

}  // namespace

ClearedColumns::ClearedColumns(std::span<const Rational> values, std::size_t rows,
                               std::size_t columns)
    : rows_(rows), columns_(columns), denominators_(columns, mpz_class(1)) {
  for (std::size_t i = 0; i < rows * columns; ++i) {
    raise_to_multiple(denominators_[i % columns], values[i].get_den());
  }
  numerators_.reserve(rows * columns);
  for (std::size_t i = 0; i < rows * columns; ++i) {
    numerators_.push_back(cleared(values[i], denominators_[i % columns]));
  }
}

ClearedWeights clear_denominators(std::span<const Rational> weights) {
  ClearedWeights result{{}, mpz_class(1)};
  for (const Rational& weight : weights) raise_to_multiple(result.common, weight.get_den());
  result.numerators.reserve(weights.size());
  for (const Rational& weight : weights) {
    result.numerators.push_back(cleared(weight, result.common));
  }
  return result;
}

std::vector<Rational> weighted_means(const ClearedColumns& values,
                                     std::span<const Rational> weights,
                                     std::span<const std::size_t> rows, const Rational& extra) {
  mpz_class common(extra.get_den());
  for (const std::size_t row : rows) raise_to_multiple(common, weights[row].get_den());
  mpz_class total = cleared(extra, common);
  std::vector<mpz_class> integers;
  integers.reserve(rows.size());
  for (const std::size_t row : rows) {
    integers.push_back(cleared(weights[row], common));
    total += integers.back();
  }
  std::vector<Rational> means(values.columns());
  for (std::size_t c = 0; c < values.columns(); ++c) {
    // mean = (sum n_r m_rc / M_c) / total, with n_r the integer weights.
    mpz_class& sum = means[c].get_num();
    for (std::size_t k = 0; k < rows.size(); ++k) {
      mpz_addmul(sum.get_mpz_t(), integers[k].get_mpz_t(),
                 values.numerator(rows[k], c).get_mpz_t());
    }
    means[c].get_den() = total * values.denominator(c);
    means[c].canonicalize();
  }
  return means;
}

}  // namespace gqa
