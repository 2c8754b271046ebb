// Where an output is wrong, if that is all that is known.
#pragma once

#include <optional>

#include "gqa/diagnose/local/local_evidence.hpp"

namespace gqa {

/// An explanation without a fault: the region, and how its elements are off where they have that in
/// common (a factor, a constant). Scattered single elements have no region. nullopt: wrong
/// everywhere.
std::optional<Explanation> located(const LocalEvidence& evidence);

}  // namespace gqa
