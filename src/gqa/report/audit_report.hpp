// Reports on audits, for people and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "gqa/diagnose/cases/audit_case.hpp"

namespace gqa {

/// "a sample of 100 of 4096 rows (seed 7)".
std::string describe(const SampledRows& sample);

/// Is the output of that name audited by rows, so that a sample concerns it?
bool is_sampled(std::string_view output);

/// Is it grad_query, grad_key or grad_value? Of those every row is audited.
bool is_gradient(std::string_view output);

/// The output whose figures are the case's own. Precondition: entry.result.
OutputAudit first_output(const AuditCase& entry);

struct AuditSummary {
  std::int64_t pass = 0;
  std::int64_t fail = 0;
  std::int64_t undecided = 0;
  std::int64_t error = 0;
};
AuditSummary summarise(const std::vector<AuditCase>& cases);

/// One case in a paragraph.
std::string case_text(const AuditCase& entry);

/// The first thing to know of a case, in a line: the fault, where it fails, why it is open, or how
/// much of what is allowed a pass took.
std::string headline(const AuditCase& entry);

/// Why an output is undecided: what it reads, or what else would pass. Empty if it is not.
std::string open_text(const AuditCase& entry, const OutputAudit& output);

/// The flags under which lse would be right, of those that are not declared: "--lse-base 2". Empty
/// without any.
std::string lse_fit_flags(const AuditCase& entry);

/// How much of an audit is told.
enum class AuditDetail {
  usual,       ///< every case; of many passes what they have in common
  every_case,  ///< a paragraph for each, however many
};

/// A paragraph per case and a last line with the counts. Beyond 8 passes without findings these
/// share a paragraph; beyond 20 others the rest has a line each.
std::string audit_text(const std::vector<AuditCase>& cases,
                       AuditDetail detail = AuditDetail::usual);

/// What a test that fails prints: the faults by name first ("head_map.tiled: ..."), or that there
/// is no name or no verdict; then the case's paragraph.
std::string assertion_text(const AuditCase& entry);

/// One object of "cases" in "gqaverify.audit/1".
nlohmann::ordered_json case_json(const AuditCase& entry);

/// "gqaverify.audit/1", as docs/json.md states it.
nlohmann::ordered_json audit_json(const std::vector<AuditCase>& cases);

}  // namespace gqa
