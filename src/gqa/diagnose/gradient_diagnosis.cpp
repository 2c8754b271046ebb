#include "gqa/diagnose/gradient_diagnosis.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "gqa/attention/packed.hpp"
#include "gqa/audit/gradient_rules.hpp"

namespace gqa {
namespace {

struct Document {
  ProblemTensors tensors;
  std::vector<OutputAudit> outputs;
};

// Outputs come document by document, each with the same names.
std::vector<Document> documents_of(const ProblemTensors& tensors, const Contract& contract,
                                   const std::vector<OutputAudit>& outputs) {
  std::vector<Document> documents;
  auto next = outputs.begin();
  for (PackedDocument& cut : cut_documents(tensors, contract)) {
    Document& document = documents.emplace_back(Document{std::move(cut.tensors), {}});
    do {
      if (next == outputs.end()) break;
      document.outputs.push_back(*next++);
    } while (next != outputs.end() && next->name != document.outputs.front().name);
  }
  return documents;
}

const AuditResult* result_of(const Document& document, GradientKind kind) {
  const auto found = std::ranges::find(document.outputs, name(kind), &OutputAudit::name);
  return found == document.outputs.end() ? nullptr : &found->result;
}

// One kind, and the rules that explain it in every document.
struct Explained {
  GradientKind kind;
  std::vector<GradientRule> rules;
  std::int64_t rows = 0;
  std::int64_t candidates = 0;
};

Explained explain(const std::vector<Document>& documents, const Contract& contract,
                  GradientKind kind, const AuditOptions& options) {
  Explained explained{kind, {}, 0, 0};
  bool first = true;
  for (const Document& document : documents) {
    const AuditResult* right = result_of(document, kind);
    if (right == nullptr || right->verdict != Verdict::fail) continue;
    if (!first) break;
    const AttentionProblem problem = make_problem(document.tensors, contract);
    explained.rules = explaining_rules(problem, document.tensors, kind, *right, options);
    explained.candidates = static_cast<std::int64_t>(candidate_rules(problem, kind).size());
    first = false;
  }
  for (const Document& document : documents) {
    const AuditResult* right = result_of(document, kind);
    if (right == nullptr) continue;
    const auto columns =
        std::max<std::int64_t>(static_cast<std::int64_t>(right->tally.column_violations.size()), 1);
    explained.rows += right->tally.elements / columns;
    if (documents.size() == 1) continue;
    const AttentionProblem problem = make_problem(document.tensors, contract);
    std::erase_if(explained.rules, [&](const GradientRule& rule) {
      return !rule_holds(problem, document.tensors, kind, rule, options);
    });
  }
  return explained;
}

Fault fault_of(const GradientRule& rule) {
  Fault fault;
  if (rule.only_member) {
    fault.kind = &gradient_not_summed;
    fault.measurement = fmt::format("query head {} of each group", *rule.only_member);
  } else if (rule.averaged) {
    fault.kind = &gradient_averaged;
  } else {
    fault.kind = rule.scale_missing ? &gradient_scale_missing : &gradient_negated;
  }
  return fault;
}

}  // namespace

Diagnosis diagnose_gradients(const ProblemTensors& tensors, const Contract& contract,
                             const std::vector<OutputAudit>& outputs, const Tolerance& tolerance) {
  AuditOptions options;
  options.tolerance = tolerance;
  Diagnosis diagnosis;
  diagnosis.tolerance = tolerance;
  const std::vector<Document> documents = documents_of(tensors, contract, outputs);
  std::vector<Explained> all;
  for (const GradientKind kind : gradient_kinds) {
    const bool wrong = std::ranges::any_of(documents, [kind](const Document& document) {
      const AuditResult* result = result_of(document, kind);
      return result != nullptr && result->verdict == Verdict::fail;
    });
    if (wrong) all.push_back(explain(documents, contract, kind, options));
  }
  for (const Explained& one : all) {
    diagnosis.candidates += one.candidates;
    std::vector<Explanation> explanations;
    for (const GradientRule& rule : one.rules) {
      Explanation& explanation = explanations.emplace_back();
      explanation.faults = {fault_of(rule)};
      explanation.rows = explanation.certified_rows = one.rows;
      explanation.tensor = name(one.kind);
      explanation.tolerance = tolerance;
    }
    TensorAccount account{std::string(name(one.kind)), status_of(explanations), ""};
    account.sentence = explanations.empty() ? account.tensor + ": unexplained"
                                            : explanations.front().sentence();
    diagnosis.status = std::max(diagnosis.status, account.status);
    diagnosis.tensors.push_back(std::move(account));
    diagnosis.explanations.insert(diagnosis.explanations.end(), explanations.begin(),
                                  explanations.end());
  }
  return diagnosis;
}

}  // namespace gqa
