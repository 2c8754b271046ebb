// The claims ledger, for people and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gqa/theory/claim.hpp"

namespace gqa {

/// One line per claim, and the counts of verdicts.
std::string claim_table(const std::vector<ClaimReport>& reports);

/// Statement, scope, verdict and the whole argument of each.
std::string claim_arguments(const std::vector<ClaimReport>& reports);

/// "gqaverify.claims/1", as docs/json.md states it; "argument" and "certificates" beside.
nlohmann::ordered_json claim_json(const std::vector<ClaimReport>& reports);

/// No claim is open, and there is one.
bool all_settled(const std::vector<ClaimReport>& reports);

}  // namespace gqa
