// The name of what went wrong, or what could be learnt about it.
#pragma once

#include <string>
#include <vector>

#include "gqa/diagnose/explanation_search.hpp"

namespace gqa {

enum class DiagnosisStatus {
  none,         ///< the declared contract holds: nothing to explain
  named,        ///< at least one small set of faults explains every row
  unexplained,  ///< none does
};
std::string_view name(DiagnosisStatus status);

/// Faults that some inputs do not show under a tolerance.
struct HiddenFaults {
  std::vector<std::string> certain;        ///< every row was asked, or no row need be
  std::vector<std::string> rows_compared;  ///< not in the rows that were asked
  std::int64_t rows = 0;                   ///< so many rows were asked,
  std::int64_t of = 0;                     ///< of so many
};

/// The diagnosis of one audited output, or of several outputs of one implementation.
struct Diagnosis {
  DiagnosisStatus status = DiagnosisStatus::none;
  std::vector<Explanation> explanations;  ///< all of the smallest size
  Tolerance tolerance;                    ///< under which they explain
  /// Pairs that these inputs cannot tell apart: "contract" or an explanation, and a fault.
  std::vector<std::pair<std::string, std::string>> inseparable;
  HiddenFaults hidden;                    ///< of a pass; `certain` is among `inseparable`
  std::vector<std::string> measurements;  ///< of what is unexplained, in words
  std::int64_t candidates = 0;            ///< sets of faults that were tried
  bool cut_short = false;                 ///< not every set could be tried
};

/// Names what the cases, outputs of one implementation that violate their contract, have in
/// common. Each case is tried under its own tolerance.
Diagnosis diagnose(std::span<const DiagnosisCase> cases, const SearchOptions& options = {});

/// The diagnosis of a case whose output is known to hold its contract: nothing to explain, and
/// what its inputs cannot show. No row is compared again.
Diagnosis diagnose_pass(const DiagnosisCase& problem);

/// The faults that leave the rows of a case as `behaviour` has them, as far as the tolerance can
/// see: what a pass of these inputs does not exclude. As many rows are asked as have
/// `largest_keys` keys together.
HiddenFaults hidden_faults(const DiagnosisCase& problem, const Behaviour& behaviour,
                           std::int64_t largest_keys = 30'000);

}  // namespace gqa
