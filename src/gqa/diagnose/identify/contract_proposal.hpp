// A whole contract from rules that fit one head.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gqa/attention/added_operands.hpp"
#include "gqa/diagnose/identify/rule_fit.hpp"

namespace gqa::identification {

/// A contract with the operands that it needs beside those of the recording.
struct Proposal {
  Contract contract;
  AddedOperands added;
  std::vector<std::string> notes;         ///< what was measured, in words
  double misfit = 1;                      ///< of the head that it was found on
  int rules = 0;                          ///< what they say beyond the plain contract (rule_cost)
  std::vector<std::string> reading = {};  ///< flags for tensors that are read otherwise
};

/// The flags that turn `declared` into the proposal: "--causal", "--scale 0.1"; empty where they
/// are alike.
std::vector<std::string> flags_of(const Proposal& proposal, const Contract& declared);

/// Completes rules that fit query head `head` of batch entry `batch`, read with KV head `kv_head`:
/// numbers by their names or shortest digits, the KV head of every other query head, the length of
/// every other batch entry, the sink of every other head.
///
/// `plain`: the contract of the reader's problem, with nothing but its layout and what no search
/// varies.
Proposal completed(RowReader& reader, const Contract& plain, const FittedHypothesis& fitted,
                   std::int64_t batch, std::int64_t head, std::int64_t kv_head);

}  // namespace gqa::identification
