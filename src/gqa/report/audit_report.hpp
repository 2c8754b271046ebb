// Reports on audits, for people and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gqa/attention/dimensions.hpp"
#include "gqa/audit/audit_outputs.hpp"
#include "gqa/diagnose/diagnosis.hpp"

namespace gqa {

/// The rows that were audited, where not all were: a random choice of `rows` of `of` rows. The
/// caches present_key and present_value and gradients are audited as a whole all the same.
struct SampledRows {
  std::int64_t rows = 0;
  std::int64_t of = 0;
  std::uint64_t seed = 0;
};

/// "a sample of 100 of 4096 rows (seed 7)".
std::string describe(const SampledRows& sample);

/// Is the output of that name audited by rows, so that a sample concerns it?
bool is_sampled(std::string_view output);

/// Is it grad_query, grad_key or grad_value? Of those every row is audited, and a precision model
/// judges by its worst case alone.
bool is_gradient(std::string_view output);

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
  std::optional<SampledRows> sample;   ///< nullopt: every row
  std::optional<AuditResult> result;   ///< of the first output
  std::vector<OutputAudit> outputs;    ///< of every output, `output` first if it is there
  std::optional<Diagnosis> diagnosis;  ///< nullopt: not asked for
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
