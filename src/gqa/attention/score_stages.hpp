// From <q, k> to the exponent: the steps of a score, in the contract's order, once.
#pragma once

#include <type_traits>
#include <utility>

#include "gqa/error.hpp"

namespace gqa {

/// The steps that a score goes through; a mask then hides whole keys (Visibility), never scores.
/// ONNX Attention's qk_matmul_output_mode 0 to 2 shows a score after one of them.
enum class ScoreStage { scaled, softcapped, biased };

/// The score of one visible key from `score`, <q, k>. A null part is absent: the score is scaled
/// already, the softcap is off, nothing is added. `see(stage, score)` is called after every step,
/// those of absent parts included.
///
/// Twice on purpose, against this one: the vector loops of the filter (filter/filter_tile.cpp,
/// gradients/gradient_tile.cpp), whose radius the enclosures check, and tests/oracle.
template <class N, class See>
typename N::Score score_stages(typename N::Score score, const typename N::Key* scale,
                               const typename N::Strength* softcap, const typename N::Score* bias,
                               See&& see) {
  if (scale != nullptr) score = score * *scale;
  see(ScoreStage::scaled, score);
  if (softcap != nullptr) score = N::softcapped(score, *softcap);
  see(ScoreStage::softcapped, score);
  if (bias != nullptr) score = score + *bias;
  see(ScoreStage::biased, score);
  return score;
}

template <class N>
typename N::Score score_stages(typename N::Score score, const typename N::Key* scale,
                               const typename N::Strength* softcap, const typename N::Score* bias) {
  return score_stages<N>(std::move(score), scale, softcap, bias,
                         [](ScoreStage, const typename N::Score&) {});
}

/// d(softcapped score) / d(score) at a score that is capped already: 1 - (capped / cap)^2.
template <class N>
typename N::Strength softcap_slope(const typename N::Score& capped,
                                   const typename N::Strength& cap) {
  if constexpr (std::is_same_v<typename N::Score, typename N::Strength>) {
    const typename N::Strength ratio(capped / cap);
    return typename N::Strength(1) - typename N::Strength(ratio * ratio);
  } else {
    throw InputError("exact.softcap", "softcap", "tanh of a logarithm is not an exact score");
  }
}

}  // namespace gqa
