// The largest rank that a matrix takes over all operands.
#pragma once

#include <cstdint>
#include <string>

namespace gqa {

/// The largest rank that a matrix of one shape takes over all operands; almost all operands
/// take it.
///
/// A witness, whose rank modulo a prime is `lower`, shows that it is not less; a count of
/// dimensions shows that it is not more. Where both are equal they prove it.
struct GenericRank {
  std::string quantity;      ///< "stacked output, shared values"
  std::int64_t rows = 0;     ///< of the matrix
  std::int64_t columns = 0;  ///< of the matrix
  std::int64_t upper = 0;
  std::string bound;  ///< "min(N, G min(d_v, d_model))"
  std::int64_t lower = 0;
  std::string witness;  ///< which operands have rank `lower`
  bool proved() const { return lower == upper; }
};

}  // namespace gqa
