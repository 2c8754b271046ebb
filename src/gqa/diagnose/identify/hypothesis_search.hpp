// Which rules fit the rows of one head.
#pragma once

#include <array>
#include <vector>

#include "gqa/diagnose/identify/rule_fit.hpp"

namespace gqa::identification {

/// What a step of the search adds to ranges and scales, in the order in which they are tried.
enum class SearchStage {
  plain,    ///< ranges and scales
  softcap,  ///< and caps that bite
  alibi,    ///< and ALiBi's standard slopes
  sink,     ///< and a sink
  alibi_softcap,
  sink_softcap,
  sink_alibi,
};
inline constexpr std::array search_stages{SearchStage::plain,         SearchStage::softcap,
                                          SearchStage::alibi,         SearchStage::sink,
                                          SearchStage::alibi_softcap, SearchStage::sink_softcap,
                                          SearchStage::sink_alibi};

/// What is kept of a search for another stage: nothing depends on it but time.
struct SearchSettings {
  CausalAlignment alignment = CausalAlignment::bottom_right;  ///< first among equals
  double scale = 1;                                           ///< the default one
  double slope = 0;                                           ///< ALiBi's standard one of the head
  std::size_t fitted = 10;  ///< hypotheses of a stage whose numbers are fitted
};

/// The hypotheses of a stage that fit the rows of one head best, best first, their numbers fitted.
/// Of the ranges that fit equally well to rounding those come first that say less.
/// `roundoff`: of the recorded type.
///
/// Method: for each of 41 scales in 2^-10 to 2^10 times the default one (and each cap) all ranges
/// at once (scan_ranges), then least squares from the best ones on, and the ranges again with the
/// numbers found.
std::vector<FittedHypothesis> search_stage(std::span<const SearchRow> rows, SearchStage stage,
                                           const SearchSettings& settings, double roundoff);

/// How much a hypothesis says beyond the plain contract: one for each rule, one more for each
/// number of keys in it and for an alignment other than the usual one, so that the causal rule
/// comes before the window that hides the same keys.
int rule_cost(const FittedHypothesis& fitted, const SearchSettings& settings);

}  // namespace gqa::identification
