// The contract that a recording fits.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gqa/attention/added_operands.hpp"
#include "gqa/audit/audit_outputs.hpp"
#include "gqa/diagnose/diagnosis.hpp"

namespace gqa {

enum class ContractFit {
  declared,  ///< the declared contract is the one
  found,     ///< another one is
  nearest,   ///< none was found; the nearest leaves some elements
  none,      ///< nothing comes near
};
std::string_view name(ContractFit fit);

struct IdentifiedContract {
  ContractFit fit = ContractFit::none;
  Contract contract;               ///< of `declared`, `found` and `nearest`
  AddedOperands added;             ///< what it needs beside the recording's tensors
  std::vector<std::string> flags;  ///< that turn the declared contract into it
  std::vector<std::string> notes;  ///< what was measured, in words
  std::optional<OutputAudit>
      audit;  ///< of every row of `output` under it; nullopt: nothing came near
  /// Flags of other contracts that pass as well and say no more: these inputs cannot tell them
  /// apart.
  std::vector<std::string> equivalents;
  HiddenFaults hidden;          ///< what a pass under it does not exclude
  std::int64_t candidates = 0;  ///< contracts that were audited
  bool cut_short = false;       ///< the time was up

  /// "--causal --scale 0.1"
  std::string flags_text() const;
};

struct IdentifyOptions {
  AuditOptions audit;                  ///< `audit.tolerance` is not read
  std::optional<Tolerance> tolerance;  ///< nullopt: the models of the types
  bool declared_fails = false;         ///< it is known that it does: it is not audited again
  /// Then its audit, where that was of all rows of all documents; null: done again where wanted.
  const OutputAudit* declared_audit = nullptr;
  double seconds = 20;                                    ///< after which no further step is begun
  std::function<void(const std::string&)> progress = {};  ///< told what is being tried
};

/// Searches layout, head map, causal rule and alignment, window, lengths, scale, softcap, sink and
/// ALiBi for the contract that `output` fits, together, and audits every row under it: a contract
/// is found only if that is a pass, under the tolerance or the models of the types, and a null
/// output is none. Rules that the recording states as tensors (a mask, lengths, sinks, slopes) are
/// taken as they are. Documents of a packed recording are searched in the one with most rows.
///
/// Method: the rows of one query head are fitted first (search_stage), from few rules to many and
/// from coarse to fine, under each layout that the shapes allow; what fits them is completed for
/// all heads and batch entries, audited on a sample of rows, then on all.
///
/// Errors: InputError "contract.missing_tensor" at "output"; those of make_problem where no layout
/// agrees with the shapes.
IdentifiedContract identify_contract(const ProblemTensors& tensors, const Contract& declared,
                                     const IdentifyOptions& options = {});

}  // namespace gqa
