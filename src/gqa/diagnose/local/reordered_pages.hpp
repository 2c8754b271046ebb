// Pages of a cache that are taken in another order than theirs.
#pragma once

#include <optional>

#include "gqa/diagnose/local/local_evidence.hpp"

namespace gqa {

/// Keys up to a length lie in pages, of which the last is not full. Attention without positions
/// does not see the order of full pages; but where another page comes last, that one ends early and
/// the recorded last one is read beyond the length: "keys 36 to 63 are not read, and keys 100 to
/// 127 are". Asked of rows that see all keys up to their batch entry's length.
std::optional<Explanation> reordered_pages(const LocalEvidence& evidence);

}  // namespace gqa
