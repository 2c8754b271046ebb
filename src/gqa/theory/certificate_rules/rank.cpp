#include <set>

#include "gqa/theory/certificate_rules/arithmetic.hpp"
#include "gqa/theory/certificate_rules/rank_bounds.hpp"
#include "gqa/theory/certificate_rules/rules.hpp"

namespace gqa::certificate_rules {
namespace {

using IntegerMatrix = std::vector<std::vector<mpz_class>>;

mpz_class residue(const mpz_class& value, const mpz_class& modulus) {
  mpz_class result;
  mpz_mod(result.get_mpz_t(), value.get_mpz_t(), modulus.get_mpz_t());
  return result;
}

mpz_class inverse_of(const mpz_class& value, const mpz_class& modulus, const char* otherwise) {
  mpz_class inverse;
  require(mpz_invert(inverse.get_mpz_t(), value.get_mpz_t(), modulus.get_mpz_t()) != 0, otherwise);
  return inverse;
}

void require_indices(const std::vector<std::int64_t>& indices, std::size_t size) {
  std::set<std::int64_t> distinct;
  for (const std::int64_t index : indices) {
    require(index >= 0 && index < static_cast<std::int64_t>(size), "an index is out of range");
    require(distinct.insert(index).second, "an index is given twice");
  }
}

// By elimination; rejects a pivot that cannot be inverted (the modulus need not be a prime).
mpz_class determinant(IntegerMatrix m, const mpz_class& modulus) {
  mpz_class result = 1;
  for (std::size_t k = 0; k < m.size(); ++k) {
    std::size_t pivot = k;
    while (pivot < m.size() && m[pivot][k] == 0) ++pivot;
    if (pivot == m.size()) return 0;
    if (pivot != k) {
      std::swap(m[pivot], m[k]);
      result = -result;
    }
    result = residue(result * m[k][k], modulus);
    const mpz_class inverse = inverse_of(m[k][k], modulus, "a pivot has no inverse");
    for (std::size_t r = k + 1; r < m.size(); ++r) {
      const mpz_class factor = residue(m[r][k] * inverse, modulus);
      if (factor == 0) continue;
      const std::uint64_t limbs = mpz_size(modulus.get_mpz_t());
      CheckWork::spend((m.size() - k) * (1 + limbs * limbs / 4));
      for (std::size_t c = k; c < m.size(); ++c) {
        m[r][c] = residue(m[r][c] - factor * m[k][c], modulus);
      }
    }
  }
  return residue(result, modulus);
}

}  // namespace

std::size_t rank_at_least(CertificateFields& fields, const RationalMatrix& matrix) {
  const Rational modulus = fields.number("modulus");
  const std::vector<std::int64_t> rows = fields.integers("rows");
  const std::vector<std::int64_t> columns = fields.integers("columns");
  const Rational stated = fields.number("determinant");
  require(modulus.get_den() == 1 && modulus > 1, "the modulus is no integer above 1");
  require(rows.size() == columns.size(), "the minor is not square");
  require_indices(rows, matrix.size());
  require_indices(columns, matrix[0].size());
  IntegerMatrix minor;
  for (const std::int64_t r : rows) {
    std::vector<mpz_class> row;
    for (const std::int64_t c : columns) {
      const Rational& entry = matrix[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)];
      const mpz_class denominator =
          inverse_of(entry.get_den(), modulus.get_num(), "a denominator has no inverse");
      row.push_back(residue(entry.get_num() * denominator, modulus.get_num()));
    }
    minor.push_back(std::move(row));
  }
  const mpz_class found = determinant(std::move(minor), modulus.get_num());
  require(found != 0, "the minor is zero");
  require(stated == Rational(found), "the determinant is not as stated");
  return rows.size();
}

std::size_t rank_at_most(CertificateFields& fields, const RationalMatrix& matrix) {
  const RationalMatrix left = fields.matrix("left");
  const RationalMatrix right = fields.matrix("right");
  require(left.size() == matrix.size(), "the left factor has a wrong number of rows");
  for (std::size_t r = 0; r < matrix.size(); ++r) {
    require(combination(left[r], right) == matrix[r], "the factors do not give the matrix");
  }
  return right.size();
}

std::string rank_lower_bound(CertificateFields& fields) {
  const RationalMatrix matrix = fields.matrix("matrix");
  return fmt::format("the {} x {} matrix has rank at least {}", matrix.size(), matrix[0].size(),
                     rank_at_least(fields, matrix));
}

std::string rank_upper_bound(CertificateFields& fields) {
  const RationalMatrix matrix = fields.matrix("matrix");
  return fmt::format("the {} x {} matrix has rank at most {}", matrix.size(), matrix[0].size(),
                     rank_at_most(fields, matrix));
}

}  // namespace gqa::certificate_rules
