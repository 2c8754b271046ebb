// One audited problem from its tensors to its verdict and diagnosis.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gqa/attention/dimensions.hpp"
#include "gqa/attention/operands_present.hpp"
#include "gqa/audit/audit_outputs.hpp"
#include "gqa/audit/witness.hpp"
#include "gqa/diagnose/cases/audit_pictures.hpp"
#include "gqa/diagnose/diagnosis.hpp"
#include "gqa/diagnose/identify/identified_contract.hpp"
#include "gqa/error.hpp"

namespace gqa {

/// The rows that were audited, where not all were: a random choice of `rows` of `of` rows. The
/// caches present_key and present_value and gradients are audited as a whole all the same.
struct SampledRows {
  std::int64_t rows = 0;
  std::int64_t of = 0;
  std::uint64_t seed = 0;
};

/// One audited path, with what was declared and what was found.
struct AuditCase {
  std::string path;
  Verdict verdict = Verdict::error;
  double seconds = 0;      ///< that the audit and its diagnosis took; 0: not measured
  std::string error;       ///< without `result`: what was wrong
  std::string error_code;  ///< its code
  Contract contract;
  Dimensions dimensions;
  OperandsPresent operands;
  std::string element_type;             ///< of the output
  std::string input_type;               ///< of the query
  std::vector<std::string> not_finite;  ///< inputs that are no numbers (not_finite_inputs), if read
  Tolerance tolerance;
  std::optional<SampledRows> sample;       ///< nullopt: every row
  std::optional<AuditResult> result;       ///< of the first output
  std::vector<OutputAudit> outputs;        ///< of every output, `output` first if it is there
  std::optional<Diagnosis> diagnosis;      ///< nullopt: not asked for
  std::optional<IdentifiedContract> fits;  ///< of a failing output: the contract that it fits
  std::optional<LseForm> lse_fits;         ///< of a failing lse: the form in which it passes
  std::optional<AuditPictures> pictures;   ///< nullopt: not asked for
  std::optional<CaseWitness> witness;      ///< nullopt: not asked for
};

struct CaseOptions {
  AuditOptions audit;                  ///< `audit.tolerance` is not read
  std::optional<Tolerance> tolerance;  ///< nullopt: the models of the types, tight to loose
  bool accept_worst_case = false;      ///< of models that were not stated
  bool diagnose = true;
  double diagnosis_seconds = 20;  ///< the diagnosis ends with what it has by then
  /// And, where the audit is more than a moment's work, after so many times what that took.
  double diagnosis_per_audit = 2;
  bool draw = false;     ///< also AuditCase::pictures
  bool witness = false;  ///< also AuditCase::witness
  /// Called before each audit with the contract and the sizes of its case, to complete the
  /// options: identity, runner, progress.
  std::function<void(const AuditCase&, const ProblemTensors&, AuditOptions&)> prepare = {};
};

/// Audits a recording: one case, or one for each document of a packed one, named "PATH: document
/// N". The diagnosis of all of them together is told in the first case that fails, or else in the
/// first.
///
/// Errors: InputError of plain_recording, cut_documents, make_problem, audit_outputs and
/// audit_with_candidates.
std::vector<AuditCase> audit_cases(const std::string& path, const ProblemTensors& tensors,
                                   const Contract& contract, const CaseOptions& options);

/// A case for input that could not be read.
AuditCase failed_case(const std::string& path, const InputError& error);
/// A case for something that a live kernel did beside writing its output: it fails.
AuditCase finding_case(const std::string& path, const std::string& finding);
/// A case for a problem that a live kernel refused: it stays undecided.
AuditCase unsupported_case(const std::string& path);

}  // namespace gqa
