// The little arithmetic that several rules need.
#pragma once

#include <fmt/format.h>

#include <string>

#include "gqa/theory/certificate_fields.hpp"

namespace gqa::certificate_rules {

/// Rejects vectors of different lengths.
inline Rational dot(const RationalVector& a, const RationalVector& b) {
  require(a.size() == b.size(), "two vectors have different lengths");
  Rational sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += a[i] * b[i];
    CheckWork::spend_on(sum);
  }
  return sum;
}

/// sum weights[j] rows[j].
inline RationalVector combination(const RationalVector& weights, const RationalMatrix& rows) {
  require(weights.size() == rows.size(), "there are not as many weights as rows");
  RationalVector sum(rows[0].size());
  for (std::size_t j = 0; j < rows.size(); ++j) {
    for (std::size_t c = 0; c < sum.size(); ++c) {
      sum[c] += weights[j] * rows[j][c];
      CheckWork::spend_on(sum[c]);
    }
  }
  return sum;
}

/// matrix vector.
inline RationalVector product(const RationalMatrix& matrix, const RationalVector& vector) {
  RationalVector result;
  for (const RationalVector& row : matrix) result.push_back(dot(row, vector));
  return result;
}

/// left right; rejects shapes that do not fit.
inline RationalMatrix product(const RationalMatrix& left, const RationalMatrix& right) {
  RationalMatrix result;
  for (const RationalVector& row : left) result.push_back(combination(row, right));
  return result;
}

inline RationalMatrix transposed(const RationalMatrix& matrix) {
  RationalMatrix result(matrix[0].size(), RationalVector(matrix.size()));
  for (std::size_t r = 0; r < matrix.size(); ++r) {
    for (std::size_t c = 0; c < matrix[r].size(); ++c) result[c][r] = matrix[r][c];
  }
  return result;
}

inline Rational total(const RationalVector& values) {
  Rational sum = 0;
  for (const Rational& value : values) {
    sum += value;
    CheckWork::spend_on(sum);
  }
  return sum;
}

inline bool all_positive(const RationalVector& values) {
  for (const Rational& value : values) {
    if (value <= 0) return false;
  }
  return true;
}

inline bool is_zero(const RationalVector& values) {
  for (const Rational& value : values) {
    if (value != 0) return false;
  }
  return true;
}

/// The mean of matrices of one shape.
inline RationalMatrix mean(const RationalMatrices& all) {
  RationalMatrix sum(all[0].size(), RationalVector(all[0][0].size()));
  for (const RationalMatrix& one : all) {
    for (std::size_t r = 0; r < sum.size(); ++r) {
      for (std::size_t c = 0; c < sum[r].size(); ++c) {
        sum[r][c] += one[r][c];
        CheckWork::spend_on(sum[r][c]);
      }
    }
  }
  for (RationalVector& row : sum) {
    for (Rational& x : row) x /= static_cast<unsigned long>(all.size());
  }
  return sum;
}

/// product(bases_j ^ exponents_j). Rejects exponents that are no integers, and what would need more
/// room than there is. Precondition: bases > 0.
inline Rational product_of_powers(const RationalVector& bases, const RationalVector& exponents,
                                  PowerRoom& room) {
  require(bases.size() == exponents.size(), "there are not as many exponents as weights");
  for (const Rational& exponent : exponents) {
    require(exponent.get_den() == 1, "an exponent is not an integer");
  }
  const std::optional<Rational> product = gqa::product_of_powers(bases, exponents, room);
  require(product.has_value(), "a power is too large to be evaluated");
  return *product;
}

/// "(3, 1/2)".
inline std::string to_text(const RationalVector& values) {
  std::string text = "(";
  for (std::size_t i = 0; i < values.size(); ++i) {
    text += (i > 0 ? ", " : "") + gqa::to_text(values[i]);
  }
  return text + ")";
}

}  // namespace gqa::certificate_rules
