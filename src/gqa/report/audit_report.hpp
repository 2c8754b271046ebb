// Reports on audits, for people and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gqa/attention/dimensions.hpp"
#include "gqa/audit/audit_outputs.hpp"

namespace gqa {

/// One audited path, with what was declared and what was found.
struct AuditCase {
  std::string path;
  Verdict verdict = Verdict::error;
  std::string error;       ///< verdict error: what was wrong with the input
  std::string error_code;  ///< its code
  Contract contract;
  Dimensions dimensions;
  std::string element_type;  ///< of the output
  Tolerance tolerance;
  std::optional<AuditResult> result;  ///< of `output`
  std::vector<OutputAudit> outputs;   ///< of every output, `output` first
};

struct AuditSummary {
  std::int64_t pass = 0;
  std::int64_t fail = 0;
  std::int64_t undecided = 0;
  std::int64_t error = 0;
};
AuditSummary summarise(const std::vector<AuditCase>& cases);

/// A paragraph per case and a last line with the counts.
std::string audit_text(const std::vector<AuditCase>& cases);

/// "gqaverify.audit/1", as PRODUCT states it.
nlohmann::ordered_json audit_json(const std::vector<AuditCase>& cases);

}  // namespace gqa
