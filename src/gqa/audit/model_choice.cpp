#include "gqa/audit/model_choice.hpp"

#include <algorithm>
#include <array>

#include "gqa/audit/gradient_rules.hpp"
#include "gqa/audit/work/stopping_runner.hpp"
#include "gqa/error.hpp"

namespace gqa {
namespace {

using Models = std::vector<const PrecisionModel*>;

Models models_of(ElementType type) {
  switch (type) {
    case ElementType::binary64:
      return {&f64_model};
    case ElementType::binary32:
      return {&f32_model};
    case ElementType::binary16:
      return {&f16_f32_model, &f16_stored_model};
    case ElementType::bfloat16:
      return {&bf16_f32_model, &bf16_stored_model};
    case ElementType::float8_e4m3fn:
    case ElementType::float8_e5m2:
      return {&f32_model, &bf16_f32_model, &fp8_weights_model};
    default:
      return {};
  }
}

Models undeclared_of(ElementType type) {
  switch (type) {
    case ElementType::binary32:
      return {&bf16x3_model, &tf32_model, &f16_products_model, &bf16_products_model};
    case ElementType::binary16:
      return {&fp8_weights_model, &f16_model};
    case ElementType::bfloat16:
      return {&fp8_weights_model, &bf16_model};
    case ElementType::float8_e4m3fn:
    case ElementType::float8_e5m2:
      return {&bf16_model};
    default:
      return {};
  }
}

// In the order of precision_models().
Models in_order(const Models& wanted) {
  Models ordered;
  std::ranges::copy_if(
      precision_models(), std::back_inserter(ordered),
      [&wanted](const PrecisionModel* model) { return std::ranges::count(wanted, model) > 0; });
  return ordered;
}

std::vector<ElementType> types_of(const AttentionProblem& problem, const ProblemTensors& tensors) {
  std::vector<ElementType> types{problem.query.type(), problem.key.current().type(),
                                 problem.value.current().type()};
  if (problem.output) types.push_back(problem.output->type());
  for (const auto& gradient : {tensors.grad_query, tensors.grad_key, tensors.grad_value}) {
    if (gradient) types.push_back(gradient->type);
  }
  return types;
}

// How much of an audit under one model is needed.
enum class AuditDepth {
  result,    // all of it
  trial,     // all of it, unless it fails: of that nothing but the fact
  strength,  // nothing more is asked once it is certain that it fails, but for how certain
  verdict,   // only whether it passes, and shows something
};

// How an output fares under one model.
using AuditUnder = std::function<AuditResult(const ModelTolerance&, AuditDepth depth)>;

AuditOptions options_under(const AuditOptions& options, const ModelTolerance& tolerance,
                           AuditDepth depth, StoppingRunner& stopping) {
  AuditOptions own = options;
  own.tolerance = tolerance;
  // The filter itself was checked by the audit under the first model.
  own.self_check = own.self_check && depth != AuditDepth::verdict;
  const bool tells_strength = depth == AuditDepth::result || depth == AuditDepth::strength;
  own.prove_violations = own.prove_violations && tells_strength;
  // A journal keeps whole audits.
  if (depth != AuditDepth::result && options.runner == nullptr) {
    own.all_violations = false;
    own.runner = &stopping;
    stopping.stop_without_power(depth == AuditDepth::verdict);
  }
  return own;
}

class Choice {
 public:
  Choice(Models candidates, Models undeclared, bool accept_worst_case)
      : candidates_(std::move(candidates)), undeclared_(std::move(undeclared)) {
    tolerance_.accept_worst_case = accept_worst_case;
  }

  /// `with_trial`: is a trial cheaper than the whole audit? Then a kernel of a later model does not
  /// pay for all that the first one cannot explain.
  /// `has_reason`: is there a better reason for a failure than a model that is too tight?
  OutputAudit choose(
      const std::string& name, const AuditUnder& audit_under, bool with_trial,
      const std::function<bool(const AuditResult&, const ModelTolerance&)>& has_reason = {}) const {
    const bool has_trial = with_trial && candidates_.size() > 1;
    ModelTolerance tolerance = tolerance_;
    std::optional<AuditResult> first;
    bool is_proved = true;  // under each of the other models
    for (const PrecisionModel* model : candidates_) {
      tolerance.model = model;
      tolerance.tried.push_back(model);
      const AuditDepth depth_of_first = has_trial ? AuditDepth::trial : AuditDepth::result;
      AuditResult result = audit_under(tolerance, first ? AuditDepth::strength : depth_of_first);
      if (result.verdict == Verdict::pass || (!first && result.verdict != Verdict::fail)) {
        return {name, std::move(result), tolerance};
      }
      if (!first) {
        first = std::move(result);
        if (has_reason && has_reason(*first, tolerance)) break;
      } else {
        is_proved = is_proved && result.strength == FailureStrength::proved;
      }
    }
    tolerance.model = candidates_.front();
    if (has_trial) first = audit_under(tolerance, AuditDepth::result);
    if (!is_proved) first->strength = FailureStrength::statistical;
    const PrecisionModel* explained_by = explaining(audit_under);
    return {name, std::move(*first), std::move(tolerance), explained_by};
  }

 private:
  const PrecisionModel* explaining(const AuditUnder& audit_under) const {
    for (const PrecisionModel* model : undeclared_) {
      if (audit_under(ModelTolerance{.model = model}, AuditDepth::verdict).verdict == Verdict::pass)
        return model;
    }
    return nullptr;
  }

  Models candidates_;
  Models undeclared_;
  ModelTolerance tolerance_;
};

// All kinds come out of one pass over a history, which is kept for each model.
void choose_gradients(const AttentionProblem& problem, const ProblemTensors& tensors,
                      const AuditOptions& options, const Choice& choice,
                      std::vector<OutputAudit>& outputs) {
  StoppingRunner stopping;
  std::vector<std::pair<const PrecisionModel*, std::unique_ptr<GradientAudit>>> audits;
  const auto audit_of = [&](const ModelTolerance& tolerance) -> GradientAudit& {
    for (auto& [model, audit] : audits) {
      if (model == tolerance.model) return *audit;
    }
    audits.emplace_back(
        tolerance.model,
        std::make_unique<GradientAudit>(
            problem, tensors, options_under(options, tolerance, AuditDepth::result, stopping)));
    return *audits.back().second;
  };
  ModelTolerance tolerance;
  tolerance.model = candidate_models(problem, tensors).front();
  for (const GradientKind kind : audit_of(tolerance).kinds()) {
    outputs.push_back(choice.choose(
        std::string(name(kind)),
        [&](const ModelTolerance& under, AuditDepth) { return audit_of(under).audit(kind); }, false,
        // A looser model would only hide what a wrong rule is.
        [&](const AuditResult& failed, const ModelTolerance& under) {
          return !explaining_rules(problem, tensors, kind, failed,
                                   options_under(options, under, AuditDepth::result, stopping))
                      .empty();
        }));
  }
}

}  // namespace

std::vector<const PrecisionModel*> candidate_models(std::span<const ElementType> types) {
  Models wanted;
  for (const ElementType type : types) {
    for (const PrecisionModel* model : models_of(type)) wanted.push_back(model);
  }
  if (wanted.empty()) wanted.push_back(&f32_model);
  return in_order(wanted);
}

std::vector<const PrecisionModel*> undeclared_models(std::span<const ElementType> types) {
  Models wanted;
  for (const ElementType type : types) {
    for (const PrecisionModel* model : undeclared_of(type)) wanted.push_back(model);
  }
  const Models declared = candidate_models(types);
  std::erase_if(wanted, [&declared](const PrecisionModel* model) {
    return std::ranges::count(declared, model) > 0;
  });
  return in_order(wanted);
}

std::vector<const PrecisionModel*> candidate_models(const AttentionProblem& problem) {
  return candidate_models(problem, ProblemTensors{});
}

std::vector<const PrecisionModel*> candidate_models(const AttentionProblem& problem,
                                                    const ProblemTensors& tensors) {
  return candidate_models(types_of(problem, tensors));
}

std::vector<OutputAudit> audit_with_candidates(const AttentionProblem& problem,
                                               const ProblemTensors& tensors,
                                               const AuditOptions& options,
                                               bool accept_worst_case) {
  const std::vector<ElementType> types = types_of(problem, tensors);
  // By enclosures alone every model costs as much as the audit: those that only explain are left
  // out.
  const Models undeclared = options.use_filter ? undeclared_models(types) : Models{};
  const Choice choice(candidate_models(types), undeclared, accept_worst_case);
  StoppingRunner stopping;
  std::vector<OutputAudit> outputs;
  for (const OutputTask& task : forward_tasks(problem, tensors)) {
    if (!task.is_rounded) {
      outputs.push_back({task.name, task.audit(options), UlpTolerance{}});
      continue;
    }
    outputs.push_back(choice.choose(
        task.name,
        [&](const ModelTolerance& tolerance, AuditDepth depth) {
          return task.audit(options_under(options, tolerance, depth, stopping));
        },
        options.runner == nullptr));
  }
  if (has_gradients(tensors)) choose_gradients(problem, tensors, options, choice, outputs);
  return outputs;
}

}  // namespace gqa
