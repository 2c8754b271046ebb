#include "gqa/audit.hpp"

#include <ostream>

#include "gqa/audit/decide/stated_tolerance.hpp"
#include "gqa/diagnose/cases/audit_case.hpp"
#include "gqa/io/contract_json.hpp"
#include "gqa/io/json.hpp"
#include "gqa/report/audit_report.hpp"

namespace gqa {
namespace {

ToleranceWords tolerance_words(const CheckOptions& options) {
  const auto word = [](const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(text);
  };
  return {word(options.atol), word(options.rtol), word(options.max_ulp), word(options.model),
          options.accept_worst_case};
}

ProblemTensors tensors_of(const CheckOptions& options) {
  const auto copy = [](const std::optional<TensorView>& view, const char* name) {
    return view ? copied_tensor(*view, name) : nullptr;
  };
  ProblemTensors tensors;
  tensors.attn_mask = copy(options.attn_mask, "attn_mask");
  tensors.past_key = copy(options.past_key, "past_key");
  tensors.past_value = copy(options.past_value, "past_value");
  tensors.nonpad_kv_seqlen = copy(options.nonpad_kv_seqlen, "nonpad_kv_seqlen");
  tensors.sink = copy(options.sink, "sink");
  tensors.alibi_slopes = copy(options.alibi_slopes, "alibi_slopes");
  return tensors;
}

CheckVerdict check_verdict(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return CheckVerdict::pass;
    case Verdict::fail:
      return CheckVerdict::fail;
    case Verdict::undecided:
    case Verdict::error:
      break;
  }
  return CheckVerdict::undecided;
}

std::string faults_of(const AuditCase& entry) {
  if (entry.verdict != Verdict::fail || !entry.diagnosis) return "";
  const std::vector<Explanation>& explanations = entry.diagnosis->explanations;
  return explanations.empty() ? "" : explanations.front().describe();
}

}  // namespace

std::ostream& operator<<(std::ostream& stream, const CheckResult& result) {
  return stream << result.message();
}

CheckResult check_attention(const TensorView& query, const TensorView& key, const TensorView& value,
                            const TensorView& output, const CheckOptions& options) {
  ProblemTensors tensors = tensors_of(options);
  tensors.query = copied_tensor(query, "query");
  tensors.key = copied_tensor(key, "key");
  tensors.value = copied_tensor(value, "value");
  tensors.output = copied_tensor(output, "output");
  Contract contract;
  read_contract(parse_json_strictly(options.contract, "contract"), contract, "contract");
  CaseOptions asked;
  asked.tolerance = stated_tolerance(tolerance_words(options));
  asked.accept_worst_case = options.accept_worst_case;
  // Without cu_seqlens there is one case.
  const AuditCase entry = audit_cases("attention", tensors, contract, asked).front();
  return {check_verdict(entry.verdict), faults_of(entry), assertion_text(entry)};
}

}  // namespace gqa
