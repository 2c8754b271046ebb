// Every claim.
#pragma once

#include <string>
#include <vector>

#include "gqa/theory/claim.hpp"

namespace gqa {

/// Every claim of the ledger in order, (a) to (gg).
const std::vector<const Claim*>& claims();

/// The claim of an id, such as "u" or "(u)", or of a title.
/// Errors: InputError at `where` with code "claims.unknown", listing the ids.
const Claim& find_claim(const std::string& name, const std::string& where = "claim");

}  // namespace gqa
