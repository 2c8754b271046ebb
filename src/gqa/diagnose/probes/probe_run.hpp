// Probes put before a live kernel, and what came of them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gqa/audit/audit_outputs.hpp"
#include "gqa/diagnose/diagnosis.hpp"
#include "gqa/diagnose/probes/probe.hpp"

namespace gqa {

/// The answer of an implementation to one probe.
struct ProbeAnswer {
  std::shared_ptr<const TypedTensor> output;  ///< null: none, see `finding`
  bool supported = true;                      ///< false: the implementation refused the probe
  std::string finding;  ///< a crash, a hang, a write outside the output, ...; empty: none
};

/// Runs one probe on an implementation.
using ProbeRunner = std::function<ProbeAnswer(const Probe&)>;

/// One probe with its answer and the verdict on it.
struct ProbeResult {
  Probe probe;  ///< its tensors with the answer's output
  ProbeAnswer answer;
  Verdict verdict = Verdict::undecided;  ///< error: no output
  std::string where;                     ///< of the violations
  std::string error;                     ///< what is wrong with the answer's file; empty: nothing
  std::int64_t violations = 0;
};

/// All probes on one implementation, and one diagnosis of them together.
struct ProbeReport {
  ElementType type = ElementType::binary32;
  Tolerance tolerance;  ///< the tightest precision model that all answers allow, or the loosest
  std::vector<ProbeResult> results;
  Diagnosis diagnosis;

  bool has_findings() const;
  std::int64_t count(Verdict verdict) const;
  std::int64_t unsupported() const;
};

/// Runs and judges the probes of one type. A probe that is refused is put again as kernels that
/// take one kind of problem only would take it (adapted_probes). A single fault must explain every
/// answer: what one probe cannot tell apart another does.
///
/// `tolerance`: nullopt for the precision models of the type, tight to loose.
ProbeReport run_probes(const ProbeRunner& runner, ElementType type,
                       const std::optional<Tolerance>& tolerance = std::nullopt,
                       const SearchOptions& options = {});

/// The verdicts and the diagnosis for answers that are there already.
ProbeReport judge_probes(std::vector<ProbeResult> answered, ElementType type,
                         const std::optional<Tolerance>& tolerance = std::nullopt,
                         const SearchOptions& options = {});

}  // namespace gqa
