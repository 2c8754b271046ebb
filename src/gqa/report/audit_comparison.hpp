// Two reports of the same audits, an older and a newer one.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace gqa {

/// How a case, or one of its outputs, stands against the older report.
enum class Change {
  same,
  better,   ///< passes now, or is no longer wrong
  worse,    ///< passed and does not, or is wrong now
  larger,   ///< passes in both, and uses more of what is allowed by more than was stated
  missing,  ///< was there and is not
  added,    ///< is there and was not
};
/// "same", "better", ...
std::string_view name(Change change);
/// Is that something to stop for?
bool is_regression(Change change);

/// One case or output of which something is to be said.
struct ComparedCase {
  std::string path;
  std::string output;  ///< empty: of the case as a whole
  Change change = Change::same;
  std::string before, after;  ///< verdicts; empty where there is none
  /// Largest shares of the allowance; negative: not known.
  double share_before = -1, share_after = -1;
  std::vector<std::string> faults;  ///< names that the newer report gives
};

struct AuditComparison {
  std::int64_t cases = 0;  ///< of the older report
  std::int64_t same = 0;
  std::vector<ComparedCase> changes;  ///< all but `same`, in the order of the reports
  bool has_regression() const;
};

/// Compares the documents of `gqaverify audit --json`. A case is known by its path, without the
/// folder that all cases of its report share, so that a run elsewhere is compared as well; a share
/// that grows by more than `share_growth` (0.1: a tenth of the allowance) counts as larger.
///
/// Errors: InputError "comparison.schema" (no report of an audit), "comparison.field_type",
/// "comparison.missing_field", "comparison.duplicate_path", at `before` or `after`.
AuditComparison compare_audits(const nlohmann::json& old_report, const std::string& before,
                               const nlohmann::json& new_report, const std::string& after,
                               double share_growth);

std::string comparison_text(const AuditComparison& comparison);
nlohmann::ordered_json comparison_json(const AuditComparison& comparison);

}  // namespace gqa
