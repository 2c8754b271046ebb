// Witnesses as JSON, for checkers that share nothing with this program.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gqa/diagnose/cases/audit_case.hpp"

namespace gqa {

/// "gqaverify.witness/1", as docs/witness.md states it: every case with its witnesses.
nlohmann::ordered_json witness_json(const std::vector<AuditCase>& cases);

/// The same as text, one line for each row's operands.
std::string witness_text(const std::vector<AuditCase>& cases);

}  // namespace gqa
