// Generic ranks of a group that shares its history, proved for one configuration.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gqa/theory/rank_configuration.hpp"

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

struct RankReport {
  RankConfiguration configuration;
  std::vector<GenericRank> ranks;
  std::uint64_t prime = 0;
  std::uint64_t seed = 0;  ///< of the first witness tried
  bool proved() const;     ///< all of them, and there is one
};

/// The generic ranks of the value dictionary, of the stacked and (with a model size) the
/// summed outputs, of the scores along heads and along keys; each with histories shared by the
/// group and, where that is another matrix, with one history per head.
///
/// A witness that falls short is replaced up to three times.
/// Errors: those of validate.
RankReport generic_ranks(const RankConfiguration& configuration, std::uint64_t seed = 1);

}  // namespace gqa
