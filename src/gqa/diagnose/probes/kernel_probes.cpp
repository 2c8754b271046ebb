#include "gqa/diagnose/probes/kernel_probes.hpp"

#include <utility>
#include <vector>

namespace gqa {

bool is_supported(const KernelCapabilities& capabilities, const Probe& probe, ElementType type) {
  const ProblemTensors& tensors = probe.tensors;
  const Contract& contract = probe.contract;
  const bool is_boolean = tensors.attn_mask && tensors.attn_mask->type == ElementType::boolean;
  const std::vector<std::pair<bool, gqa_kernel_feature>> needs{
      {contract.causal, GQA_FEATURE_CAUSAL},
      {!contract.window.is_unbounded(), GQA_FEATURE_WINDOW},
      {contract.softcap != 0, GQA_FEATURE_SOFTCAP},
      {is_boolean, GQA_FEATURE_MASK_BOOLEAN},
      {tensors.attn_mask && !is_boolean, GQA_FEATURE_MASK_FLOAT},
      {tensors.alibi_slopes != nullptr, GQA_FEATURE_ALIBI},
      {tensors.sink != nullptr, GQA_FEATURE_SINK},
      {tensors.past_key != nullptr, GQA_FEATURE_PAST},
      {tensors.nonpad_kv_seqlen != nullptr, GQA_FEATURE_LENGTHS},
      {tensors.cu_seqlens_q != nullptr, GQA_FEATURE_PACKED},
      {probe.key_row_stride_factor > 1, GQA_FEATURE_STRIDED},
      {contract.scale.has_value(), GQA_FEATURE_SCALE},
  };
  for (const auto& [needed, feature] : needs) {
    if (needed && !capabilities.has(feature)) return false;
  }
  return capabilities.supports(type) && capabilities.supports(contract.layout);
}

ProbeRunner kernel_runner(KernelHost& host, ElementType type) {
  return [&host, type](const Probe& probe) {
    ProbeAnswer answer;
    answer.supported = is_supported(host.capabilities(), probe, type);
    if (!answer.supported) return answer;
    KernelCallOptions options;
    options.key_row_stride_factor = probe.key_row_stride_factor;
    const KernelRun run = host.run(probe.tensors, probe.contract, type, options);
    answer.supported = run.status != KernelStatus::unsupported;
    answer.output = run.output;
    if (answer.supported && !run.is_clean()) answer.finding = describe(run);
    return answer;
  };
}

}  // namespace gqa
