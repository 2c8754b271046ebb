#include "gqa/audit/model_choice.hpp"

#include <algorithm>
#include <array>

#include "gqa/audit/gradient_rules.hpp"
#include "gqa/error.hpp"

namespace gqa {
namespace {

std::vector<const PrecisionModel*> models_of(ElementType type) {
  switch (type) {
    case ElementType::binary64:
      return {&f64_model};
    case ElementType::binary32:
      return {&f32_model};
    case ElementType::binary16:
      return {&f16_f32_model, &f16_model};
    case ElementType::bfloat16:
      return {&bf16_f32_model, &bf16_model};
    default:
      return {};
  }
}

}  // namespace

std::vector<const PrecisionModel*> candidate_models(std::span<const ElementType> types) {
  std::vector<const PrecisionModel*> wanted;
  for (const ElementType type : types) {
    for (const PrecisionModel* model : models_of(type)) wanted.push_back(model);
  }
  if (wanted.empty()) wanted.push_back(&f32_model);
  std::vector<const PrecisionModel*> candidates;
  std::ranges::copy_if(
      precision_models(), std::back_inserter(candidates),
      [&wanted](const PrecisionModel* model) { return std::ranges::count(wanted, model) > 0; });
  return candidates;
}

std::vector<const PrecisionModel*> candidate_models(const AttentionProblem& problem) {
  return candidate_models(problem, ProblemTensors{});
}

std::vector<const PrecisionModel*> candidate_models(const AttentionProblem& problem,
                                                    const ProblemTensors& tensors) {
  std::vector<ElementType> types{problem.query.type(), problem.key.current().type(),
                                 problem.value.current().type()};
  if (problem.output) types.push_back(problem.output->type());
  for (const auto& gradient : {tensors.grad_query, tensors.grad_key, tensors.grad_value}) {
    if (gradient) types.push_back(gradient->type);
  }
  return candidate_models(types);
}

ModelChoice audit_with_candidates(const AttentionProblem& problem, const ProblemTensors& tensors,
                                  AuditOptions options, bool accept_worst_case) {
  ModelChoice choice;
  choice.tolerance.accept_worst_case = accept_worst_case;
  const std::vector<const PrecisionModel*> candidates = candidate_models(problem, tensors);
  for (const PrecisionModel* model : candidates) {
    choice.tolerance.model = model;
    choice.tolerance.tried.push_back(model);
    options.tolerance = choice.tolerance;
    choice.outputs = audit_outputs(problem, tensors, options);
    if (worst_verdict(choice.outputs) == Verdict::pass) break;
    if (model == candidates.back()) break;
    if (wrong_rules_explain(problem, tensors, choice.outputs, options)) break;
  }
  return choice;
}

}  // namespace gqa
