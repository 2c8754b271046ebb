#include "gqa/num/weighted_mean.hpp"

#include <numeric>

#include "gqa/num/word_fraction.hpp"

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

// The same in machine words; false as soon as a number is not small.
bool raise_small(std::int64_t& common, const Rational& value) {
  const auto denominator = small_value(value.get_den());
  if (!denominator) return false;
  if (*denominator == 1 || *denominator == common) return true;
  const WideInteger multiple = WideInteger{common / std::gcd(common, *denominator)} * *denominator;
  if (multiple >= small_limit) return false;
  common = static_cast<std::int64_t>(multiple);
  return true;
}

std::optional<std::int64_t> cleared_small(const Rational& value, std::int64_t common) {
  const auto numerator = small_value(value.get_num());
  if (!numerator) return std::nullopt;
  if (common == 1) return numerator;
  // The denominator divides `common`, so it is small.
  const std::int64_t denominator = *small_value(value.get_den());
  if (denominator == common) return numerator;
  // Dividing by one is spared: divisions are what this lane spends its time on.
  const std::int64_t factor = denominator == 1 ? common : common / denominator;
  const WideInteger product = WideInteger{factor} * *numerator;
  if (product >= small_limit || product <= -small_limit) return std::nullopt;
  return static_cast<std::int64_t>(product);
}

// sum += weight * value, for a value in a machine word.
void add_product(mpz_class& sum, const mpz_class& weight, std::int64_t value) {
  if (value >= 0) {
    mpz_addmul_ui(sum.get_mpz_t(), weight.get_mpz_t(), static_cast<unsigned long>(value));
  } else {
    mpz_submul_ui(sum.get_mpz_t(), weight.get_mpz_t(), static_cast<unsigned long>(-value));
  }
}

}  // namespace

ClearedColumns::ClearedColumns(std::span<const Rational> values, std::size_t rows,
                               std::size_t columns)
    : rows_(rows), columns_(columns) {
  is_small_ = rows <= most_small_terms && clear_small(values);
  if (!is_small_) clear_large(values);
}

bool ClearedColumns::clear_small(std::span<const Rational> values) {
  small_denominators_.assign(columns_, 1);
  small_numerators_.assign(rows_ * columns_, 0);
  for (std::size_t r = 0, i = 0; r < rows_; ++r) {
    for (std::size_t c = 0; c < columns_; ++c, ++i) {
      if (!raise_small(small_denominators_[c], values[i])) return false;
    }
  }
  for (std::size_t r = 0, i = 0; r < rows_; ++r) {
    for (std::size_t c = 0; c < columns_; ++c, ++i) {
      const auto numerator = cleared_small(values[i], small_denominators_[c]);
      if (!numerator) return false;
      small_numerators_[i] = *numerator;
    }
  }
  return true;
}

void ClearedColumns::clear_large(std::span<const Rational> values) {
  denominators_.assign(columns_, mpz_class(1));
  for (std::size_t i = 0; i < rows_ * columns_; ++i) {
    raise_to_multiple(denominators_[i % columns_], values[i].get_den());
  }
  numerators_.reserve(rows_ * columns_);
  for (std::size_t i = 0; i < rows_ * columns_; ++i) {
    numerators_.push_back(cleared(values[i], denominators_[i % columns_]));
  }
}

void ClearedColumns::means(std::span<const Rational> weights, std::span<const std::size_t> visible,
                           const Rational& extra, std::span<Rational> means) const {
  if (is_small_ && small_means(weights, visible, extra, means)) return;
  large_means(weights, visible, extra, means);
}

bool ClearedColumns::small_means(std::span<const Rational> weights,
                                 std::span<const std::size_t> visible, const Rational& extra,
                                 std::span<Rational> means) const {
  std::int64_t common = 1;
  if (!raise_small(common, extra)) return false;
  for (const std::size_t row : visible) {
    if (!raise_small(common, weights[row])) return false;
  }
  const auto extra_integer = cleared_small(extra, common);
  if (!extra_integer) return false;
  WideInteger total = *extra_integer;
  // sums[c] = sum n_r m_rc, with n_r the integer weights.
  std::vector<WideInteger> sums(columns_, 0);
  for (const std::size_t row : visible) {
    const auto weight = cleared_small(weights[row], common);
    if (!weight) return false;
    total += *weight;
    const std::int64_t* numerators = small_numerators_.data() + row * columns_;
    for (std::size_t c = 0; c < columns_; ++c) sums[c] += WideInteger{*weight} * numerators[c];
  }
  for (std::size_t c = 0; c < columns_; ++c) {
    set_fraction(means[c], sums[c], total * small_denominators_[c]);
  }
  return true;
}

void ClearedColumns::large_means(std::span<const Rational> weights,
                                 std::span<const std::size_t> visible, const Rational& extra,
                                 std::span<Rational> means) const {
  mpz_class common(extra.get_den());
  for (const std::size_t row : visible) raise_to_multiple(common, weights[row].get_den());
  mpz_class total = cleared(extra, common);
  std::vector<mpz_class> integers;
  integers.reserve(visible.size());
  for (const std::size_t row : visible) {
    integers.push_back(cleared(weights[row], common));
    total += integers.back();
  }
  for (std::size_t c = 0; c < columns_; ++c) {
    // mean = (sum n_r m_rc / M_c) / total
    mpz_class& sum = means[c].get_num();
    sum = 0;
    for (std::size_t k = 0; k < visible.size(); ++k) {
      const std::size_t i = visible[k] * columns_ + c;
      if (is_small_) {
        add_product(sum, integers[k], small_numerators_[i]);
      } else {
        mpz_addmul(sum.get_mpz_t(), integers[k].get_mpz_t(), numerators_[i].get_mpz_t());
      }
    }
    means[c].get_den() =
        is_small_ ? mpz_class(total * small_denominators_[c]) : mpz_class(total * denominators_[c]);
    means[c].canonicalize();
  }
}

}  // namespace gqa
