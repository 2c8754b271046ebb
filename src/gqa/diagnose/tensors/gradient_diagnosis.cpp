#include "gqa/diagnose/tensors/gradient_diagnosis.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "gqa/attention/packed.hpp"
#include "gqa/audit/gradient_rules.hpp"
#include "gqa/diagnose/measure/content.hpp"
#include "gqa/diagnose/tensors/backward_search.hpp"

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

bool is_wrong(const Document& document, GradientKind kind) {
  const AuditResult* result = result_of(document, kind);
  return result != nullptr && result->verdict == Verdict::fail;
}

std::vector<GradientKind> failing_kinds(const std::vector<Document>& documents) {
  std::vector<GradientKind> kinds;
  for (const GradientKind kind : gradient_kinds) {
    if (std::ranges::any_of(documents, [kind](const Document& d) { return is_wrong(d, kind); })) {
      kinds.push_back(kind);
    }
  }
  return kinds;
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

// The faults of one document's gradient: of the gradients' own rules, decided by the audit itself,
// or of the rules of the backward pass.
std::vector<Fault> faults_in(const Document& document, const Contract& contract, GradientKind kind,
                             const std::vector<GradientKind>& failing, const AuditOptions& options,
                             const BackwardSearch* search) {
  const AttentionProblem problem = make_problem(document.tensors, contract);
  std::vector<Fault> faults;
  for (const GradientRule& rule :
       explaining_rules(problem, document.tensors, kind, *result_of(document, kind), options)) {
    if (search == nullptr || search->says_something_under(kind, rule)) {
      faults.push_back(fault_of(rule));
    }
  }
  if (!faults.empty() || search == nullptr) return faults;
  return search->explain(kind, failing);
}

std::optional<BackwardSearch> search_of(const Document& document, const Contract& contract,
                                        const Tolerance& tolerance) {
  // A document is a packed problem of its own rows alone: one batch entry.
  if (!document.tensors.output || document.tensors.cu_seqlens_q) return std::nullopt;
  return BackwardSearch(document.tensors, contract, tolerance);
}

// What explains the gradient in every document in which it is wrong.
std::vector<Fault> common_faults(const std::vector<Document>& documents, const Contract& contract,
                                 GradientKind kind, const std::vector<GradientKind>& failing,
                                 const AuditOptions& options,
                                 const std::vector<std::optional<BackwardSearch>>& searches) {
  std::optional<std::vector<Fault>> common;
  for (std::size_t n = 0; n < documents.size(); ++n) {
    if (!is_wrong(documents[n], kind)) continue;
    const std::vector<Fault> own = faults_in(documents[n], contract, kind, failing, options,
                                             searches[n] ? &*searches[n] : nullptr);
    if (!common) common = own;
    std::erase_if(*common, [&own](const Fault& fault) {
      return std::ranges::find(own, fault.describe(), &Fault::describe) == own.end();
    });
  }
  return common.value_or(std::vector<Fault>{});
}

std::shared_ptr<const TypedTensor> tensor_of_kind(const ProblemTensors& tensors,
                                                  GradientKind kind) {
  if (kind == GradientKind::query) return tensors.grad_query;
  return kind == GradientKind::key ? tensors.grad_key : tensors.grad_value;
}

std::int64_t rows_of(const std::vector<Document>& documents, GradientKind kind) {
  std::int64_t rows = 0;
  for (const Document& document : documents) {
    const AuditResult* result = result_of(document, kind);
    if (result == nullptr) continue;
    const auto columns = std::max<std::int64_t>(
        static_cast<std::int64_t>(result->tally.column_violations.size()), 1);
    rows += result->tally.elements / columns;
  }
  return rows;
}

// What is said where the weights are right and their gradient is not.
void look_at_delta(const std::vector<Document>& documents, Diagnosis& diagnosis) {
  const bool value_is_right = std::ranges::all_of(documents, [](const Document& document) {
    const AuditResult* result = result_of(document, GradientKind::value);
    return result != nullptr && result->verdict == Verdict::pass;
  });
  const bool unexplained = std::ranges::any_of(diagnosis.tensors, [](const TensorAccount& one) {
    return one.status == DiagnosisStatus::unexplained;
  });
  if (!value_is_right || !unexplained) return;
  diagnosis.measurements.push_back(
      "grad_value is right, grad_query or grad_key is not: the weights are right; look at delta, "
      "the row sums of grad_output times output");
}

}  // namespace

Diagnosis diagnose_gradients(const ProblemTensors& tensors, const Contract& contract,
                             const std::vector<OutputAudit>& outputs, const Tolerance& tolerance) {
  AuditOptions options;
  options.tolerance = tolerance;
  Diagnosis diagnosis;
  diagnosis.tolerance = tolerance;
  const std::vector<Document> documents = documents_of(tensors, contract, outputs);
  const std::vector<GradientKind> failing = failing_kinds(documents);
  std::vector<std::optional<BackwardSearch>> searches;
  for (const Document& document : documents) {
    searches.push_back(search_of(document, contract, tolerance));
  }
  for (const GradientKind kind : failing) {
    std::vector<Fault> faults;
    const auto content = content_of(*tensor_of_kind(tensors, kind), std::string(name(kind)));
    if (content && content->kind != &content_constant) {
      faults.push_back(*content);
    } else {
      faults = common_faults(documents, contract, kind, failing, options, searches);
    }
    std::vector<Explanation> explanations;
    for (Fault& fault : faults) {
      Explanation& explanation = explanations.emplace_back();
      explanation.faults = {std::move(fault)};
      explanation.rows = explanation.certified_rows = rows_of(documents, kind);
      explanation.tensor = name(kind);
      explanation.tolerance = tolerance;
    }
    TensorAccount account{std::string(name(kind)), status_of(explanations), ""};
    account.sentence =
        explanations.empty() ? account.tensor + ": unexplained" : explanations.front().sentence();
    diagnosis.status = std::max(diagnosis.status, account.status);
    diagnosis.tensors.push_back(std::move(account));
    diagnosis.explanations.insert(diagnosis.explanations.end(), explanations.begin(),
                                  explanations.end());
  }
  look_at_delta(documents, diagnosis);
  return diagnosis;
}

}  // namespace gqa
