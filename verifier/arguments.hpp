// The flags that state a contract and a tolerance, shared by the commands that audit.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gqa/attention/contract.hpp"
#include "gqa/audit/decide/tolerance.hpp"
#include "gqa/io/tensor_slots.hpp"

namespace gqa::program {

/// --contract: a file, or the JSON object itself. Read once, since a pipe cannot be read again.
struct StatedContract {
  std::string stated;

  /// Overwrites the fields that it states. Errors: those of read_contract and of reading the file.
  void apply(Contract& contract) const;

 private:
  mutable std::optional<nlohmann::json> object_;
};

/// The contract flags of docs/contract.md, "Stating it"; what is not given is left as the file says
/// it.
class ContractFlags {
 public:
  void add_to(CLI::App& command);
  /// Overwrites the fields that were given. `--contract` first, then the single flags. The
  /// dialect's defaults give way to everything that was stated, wherever it was stated.
  /// Errors: InputError at the flag's name.
  void apply(Contract& contract) const;

 private:
  StatedContract contract_;
  std::optional<std::string> layout_;
  std::optional<std::int64_t> q_heads_;
  std::optional<std::int64_t> kv_heads_;
  std::optional<std::string> head_map_;
  std::optional<std::string> scale_;
  std::optional<std::string> causal_;
  std::optional<std::string> window_;
  std::optional<std::string> softcap_;
  std::optional<std::string> empty_row_;
  std::optional<std::string> lse_base_;
  std::optional<std::string> lse_empty_;
  std::optional<std::string> lse_layout_;
  std::optional<std::string> dialect_;
  std::map<std::string, std::optional<std::int64_t>> window_words_;  // by contract field
};

/// --lengths, --sink, --alibi, --left-padding: operands that the recording does not hold.
class OperandFlags {
 public:
  void add_to(CLI::App& command);
  /// Puts them in the place of the recording's own.
  /// Errors: InputError at the flag's name; those of make_problem, which tells the sizes.
  void apply(ProblemTensors& tensors, const Contract& contract) const;

 private:
  std::optional<std::string> lengths_;
  std::optional<std::string> sink_;
  std::optional<std::string> alibi_;
  bool left_padding_ = false;
};

/// --tensor: which tensor of a file is which.
class TensorFlags {
 public:
  void add_to(CLI::App& command);
  /// Errors: InputError "recording.tensor_flag" at "--tensor": no NAME=TENSOR, or an unknown NAME.
  TensorChoice choice() const;

 private:
  std::vector<std::string> words_;
};

/// --atol/--rtol, --max-ulp or --model; without any, the model is chosen by the file's types.
class ToleranceFlags {
 public:
  void add_to(CLI::App& command);
  /// nullopt: no flag states one, choose a model (audit_with_candidates).
  /// Errors: InputError at the flag's name.
  std::optional<Tolerance> tolerance() const;
  /// --accept worst-case was given.
  bool accept_worst_case() const { return accept_.has_value(); }

 private:
  std::optional<std::string> absolute_;
  std::optional<std::string> relative_;
  std::optional<std::string> ulps_;
  std::optional<std::string> model_;
  std::optional<std::string> accept_;
};

}  // namespace gqa::program
