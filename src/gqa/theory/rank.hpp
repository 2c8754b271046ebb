// Generic ranks of a group that shares its history, proved for one configuration.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gqa/theory/generic_rank.hpp"
#include "gqa/theory/rank_configuration.hpp"

namespace gqa {

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
