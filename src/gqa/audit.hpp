// Attention checked in a test, in a few lines of any test framework:
//
//   #include <gqa/audit.hpp>
//
//   const gqa::CheckResult result = gqa::check_attention(
//       {query, {1, 8, 64, 128}}, {key, {1, 2, 64, 128}}, {value, {1, 2, 64, 128}},
//       {output, {1, 8, 64, 128}}, {.contract = R"({"causal": true})"});
//   CHECK_MESSAGE(result, result.message());  // doctest
//   EXPECT_TRUE(result) << result;            // GoogleTest
//
// Nothing but the standard library is included.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "gqa/attention/tensor_view.hpp"

namespace gqa {

/// What is stated beside query, key, value and output.
struct CheckOptions {
  /// The contract as a JSON object, in the words of its documentation: layout, q_num_heads,
  /// kv_num_heads, head_map, scale, causal, causal_alignment, window, softcap, empty_row, dialect.
  std::string contract = "{}";

  /// The tolerance: one of `max_ulp`, `model`, or `atol` and `rtol`. Numbers are exact: "8",
  /// "1e-5", "1/1000". Without any: what rounding in the tensors' types explains.
  std::string max_ulp = "";
  std::string atol = "";
  std::string rtol = "";
  std::string model = "";          ///< "f32", "bf16-f32", ...: those of precision_presets.cpp
  bool accept_worst_case = false;  ///< of a model: pass what only its worst case explains

  std::optional<TensorView> attn_mask = {};         ///< broadcastable to [B, Hq, T, P + S]
  std::optional<TensorView> past_key = {};          ///< [B, Hkv, P, dk]
  std::optional<TensorView> past_value = {};        ///< [B, Hkv, P, dv]
  std::optional<TensorView> nonpad_kv_seqlen = {};  ///< [B] int32 or int64
  std::optional<TensorView> sink = {};              ///< [Hq]
  std::optional<TensorView> alibi_slopes = {};      ///< [Hq] or [B, Hq]
};

enum class CheckVerdict {
  pass,       ///< every element is within the tolerance, certainly
  fail,       ///< one is not
  undecided,  ///< one could be neither proved within nor beyond: NaN in a visible operand
};

/// True only for a pass.
class CheckResult {
 public:
  CheckResult(CheckVerdict verdict, std::string faults, std::string message)
      : verdict_(verdict), faults_(std::move(faults)), message_(std::move(message)) {}

  explicit operator bool() const { return verdict_ == CheckVerdict::pass; }
  CheckVerdict verdict() const { return verdict_; }
  /// The name of what is wrong, "head_map.tiled", several together joined by " + "; empty if
  /// nothing is, or nothing explains it.
  const std::string& faults() const { return faults_; }
  /// What a failing test should print: the fault first, then figures, places, worst elements.
  const std::string& message() const { return message_; }

 private:
  CheckVerdict verdict_;
  std::string faults_;
  std::string message_;
};

/// Writes the message.
std::ostream& operator<<(std::ostream& stream, const CheckResult& result);

/// Audits an output and names its fault. Shapes as the contract's layout has them; in BHSD:
/// query [B, Hq, T, dk], key [B, Hkv, S, dk], value [B, Hkv, S, dv], output [B, Hq, T, dv].
///
/// Errors: InputError (gqa/error.hpp) of copied_tensor at the tensor's name, of read_contract at
/// "contract: FIELD", of stated_tolerance at the option's name, of make_problem and of audit.
CheckResult check_attention(const TensorView& query, const TensorView& key, const TensorView& value,
                            const TensorView& output, const CheckOptions& options = {});

}  // namespace gqa
