// The name of what went wrong, or what could be learnt about it.
#pragma once

#include <string>
#include <vector>

#include "gqa/diagnose/explain/explanation_search.hpp"

namespace gqa {

/// What is known of why outputs are wrong. From `rounding` on, the better is before the worse.
enum class DiagnosisStatus {
  none,         ///< the declared contract holds: nothing to explain
  rounding,     ///< beyond the stated tolerance, within what a precision model allows
  named,        ///< at least one small set of faults of the catalogue explains every row
  measured,     ///< numbers read off the data do: a factor, a scale, a range, zero everywhere
  located,      ///< where it is wrong is all that is known
  unexplained,  ///< nothing explains it
};
std::string_view name(DiagnosisStatus status);

/// Faults that some inputs do not show under a tolerance.
struct HiddenFaults {
  /// Outputs that would pass in the rows asked and have hardly to do with the right one, in words:
  /// uniform weights over the visible keys, another KV head's rows. A pass says little beside
  /// those.
  std::vector<std::string> imitations;
  std::vector<std::string> certain;        ///< every row was asked, or no row need be
  std::vector<std::string> rows_compared;  ///< not in the rows that were asked
  std::int64_t rows = 0;                   ///< so many rows were asked,
  std::int64_t of = 0;                     ///< of so many
};

/// What is known of one output tensor that fails.
struct TensorAccount {
  std::string tensor;
  DiagnosisStatus status = DiagnosisStatus::unexplained;
  std::string sentence;  ///< what a kernel author reads
};

/// The diagnosis of one audited output, or of several outputs of one implementation.
struct Diagnosis {
  DiagnosisStatus status = DiagnosisStatus::none;
  std::vector<Explanation> explanations;  ///< of each tensor all of the smallest size
  std::vector<TensorAccount> tensors;     ///< every output that fails; `status` is the worst
  Tolerance tolerance;                    ///< under which they explain
  /// Pairs that these inputs cannot tell apart: "contract" or an explanation, and a fault.
  std::vector<std::pair<std::string, std::string>> inseparable;
  std::vector<std::string> findings;      ///< of a pass, in words; they change no verdict
  HiddenFaults hidden;                    ///< of a pass; `certain` is among `inseparable`
  std::vector<std::string> measurements;  ///< of what is unexplained, in words
  std::int64_t candidates = 0;            ///< sets of faults that were tried
  bool cut_short = false;                 ///< not every set could be tried
};

/// Names what the cases, outputs of one implementation that violate their contract, have in
/// common. Sets of faults are tried under each of the tolerances, tight to loose, as
/// search_explanations says; the case is wrong where it is under the last one.
Diagnosis diagnose(std::span<const DiagnosisCase> cases, std::span<const Tolerance> tolerances,
                   const SearchOptions& options = {});
/// The same under the cases' own tolerance.
Diagnosis diagnose(std::span<const DiagnosisCase> cases, const SearchOptions& options = {});

/// Of the explanations of one tensor: named, measured, or unexplained where there is none.
DiagnosisStatus status_of(std::span<const Explanation> explanations);

/// The diagnosis of a case whose output is known to hold its contract: nothing to explain, and
/// what its inputs cannot show. No row is compared again.
Diagnosis diagnose_pass(const DiagnosisCase& problem);

/// The faults that leave the rows of a case as `behaviour` has them, as far as the tolerance can
/// see: what a pass of these inputs does not exclude. As many rows are asked as have
/// `largest_keys` keys together.
HiddenFaults hidden_faults(const DiagnosisCase& problem, const Behaviour& behaviour,
                           std::int64_t largest_keys = 30'000);

}  // namespace gqa
