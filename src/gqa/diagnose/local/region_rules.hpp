// Rules that are broken in one region alone.
#pragma once

#include <chrono>
#include <vector>

#include "gqa/diagnose/local/local_evidence.hpp"

namespace gqa {

/// When a search has to end with what it has.
using Deadline = std::chrono::steady_clock::time_point;

/// Faults of the catalogue that explain the wrong rows, and no others need: "causal.missing in
/// query head 5 alone".
std::vector<Explanation> rules_of_region(const LocalEvidence& evidence, Deadline deadline);

/// Query heads that read another KV head than theirs, for keys, values or both.
std::optional<Explanation> other_heads(const LocalEvidence& evidence);

/// Of a whole output whose fault is a head map: if the query heads that it moves are one range and
/// all read one KV head, the explanation is told of those: "query heads 4 to 7 read KV head 0".
void tell_moved_heads(const Behaviour& declared, Explanation& explanation);

/// An online softmax over tiles of 16 to 256 keys whose accumulator is not rescaled.
std::optional<Explanation> lost_rescale(const LocalEvidence& evidence);

/// What is measured elsewhere of whole outputs, for the region alone: moved ends of the range of
/// keys, another scale, a common factor.
std::optional<Explanation> measured_in_region(const LocalEvidence& evidence);

}  // namespace gqa
