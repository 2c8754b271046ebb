// One self-contained page for each kind of report, as HTML that is XML too.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gqa/diagnose/arithmetic/kernel_arithmetic.hpp"
#include "gqa/diagnose/probes/identify.hpp"
#include "gqa/exact/enumeration.hpp"
#include "gqa/report/audit_report.hpp"
#include "gqa/report/html/page_origin.hpp"
#include "gqa/theory/claim.hpp"

namespace gqa {

struct EnumerationCrossCheck;
struct FixtureReport;
struct IdentifiedRecording;
struct RankReport;
struct RecordedRanks;

/// Audits. Of several cases, a table of all of them comes first, and what is wrong by its name.
std::string audit_html(const std::vector<AuditCase>& cases, const PageOrigin& origin = {});

/// Probes of one implementation in one element type, with what was declared and what was found.
struct ProbeCase {
  ProbeReport report;
  std::vector<IdentifiedRule> rules;
  std::optional<KernelArithmetic> arithmetic = {};  ///< how it computes, where that was read
};
/// `name`: of the implementation, or the directory with its answers.
std::string probe_html(const std::string& name, const std::vector<ProbeCase>& cases,
                       const PageOrigin& origin = {});

/// The contracts that recordings fit, with the flags to copy.
std::string identified_html(const std::vector<IdentifiedRecording>& recordings,
                            const PageOrigin& origin = {});

/// Generic ranks of one configuration, or the ranks of recorded groups.
std::string rank_html(const RankReport& report, const PageOrigin& origin = {});
std::string rank_html(const std::vector<RecordedRanks>& recordings, const PageOrigin& origin = {});

/// `engine`: the exact arithmetic, "gmp" or "boost".
std::string enumeration_html(const EnumerationResult& result, const std::string& engine,
                             const PageOrigin& origin = {});

std::string claims_html(const std::vector<ClaimReport>& reports, const PageOrigin& origin = {});

std::string fixtures_html(const std::vector<FixtureReport>& reports,
                          const std::optional<EnumerationCrossCheck>& cases,
                          const PageOrigin& origin = {});

}  // namespace gqa
