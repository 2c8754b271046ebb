#include "gqa/audit/gradient_rules.hpp"

#include <algorithm>

namespace gqa {
namespace {

AuditOptions alone(const AuditOptions& options) {
  AuditOptions own = options;
  own.runner = nullptr;
  own.progress = nullptr;
  return own;
}

std::int64_t largest_group(const AttentionProblem& problem) {
  std::int64_t largest = 0;
  for (std::int64_t g = 0; g < problem.dimensions.kv_heads; ++g) {
    largest = std::max<std::int64_t>(largest, std::ranges::count(problem.head_map, g));
  }
  return largest;
}

bool holds(const AuditTally& tally) {
  return tally.elements > 0 && tally.violations == 0 && tally.undecided == 0;
}

// One history under the rule of `audit`.
bool holds_in(const GradientAudit& audit, GradientKind kind, const AuditOptions& options,
              std::int64_t batch, std::int64_t kv_head) {
  GradientTallies empty;
  empty[static_cast<std::size_t>(kind)] = audit.empty_tally(kind);
  const GradientTallies found =
      audit_history(audit.problem(), audit.recorded(), options, empty, batch, kv_head, true);
  return holds(*found[static_cast<std::size_t>(kind)]);
}

// The history of the worst element: most rules fail there already.
bool holds_at_worst(const GradientAudit& audit, GradientKind kind, const AuditResult& right,
                    const AuditOptions& options) {
  if (right.tally.worst.empty()) return false;
  const auto& index = right.tally.worst.front().index;
  const auto& map = audit.problem().problem.head_map;
  return holds_in(audit, kind, options, index[0],
                  kind == GradientKind::query ? map[static_cast<std::size_t>(index[1])] : index[1]);
}

}  // namespace

std::vector<GradientRule> candidate_rules(const AttentionProblem& problem, GradientKind kind) {
  std::vector<GradientRule> rules;
  const std::int64_t group = kind == GradientKind::query ? 1 : largest_group(problem);
  for (std::int64_t member = 0; group > 1 && member < group; ++member) {
    rules.push_back({.only_member = member});
  }
  if (group > 1) rules.push_back({.averaged = true});
  if (kind != GradientKind::value) rules.push_back({.scale_missing = true});
  rules.push_back({.negated = true});
  return rules;
}

std::vector<GradientRule> explaining_rules(const AttentionProblem& problem,
                                           const ProblemTensors& tensors, GradientKind kind,
                                           const AuditResult& right, const AuditOptions& options) {
  const AuditOptions own = alone(options);
  std::vector<GradientRule> rules;
  if (right.verdict != Verdict::fail) return rules;
  for (const GradientRule& rule : candidate_rules(problem, kind)) {
    const GradientAudit audit(problem, tensors, own, rule);
    if (!holds_at_worst(audit, kind, right, own)) continue;
    if (rule_holds(problem, tensors, kind, rule, own)) rules.push_back(rule);
  }
  return rules;
}

bool rule_holds(const AttentionProblem& problem, const ProblemTensors& tensors, GradientKind kind,
                const GradientRule& rule, const AuditOptions& options) {
  const AuditOptions own = alone(options);
  const GradientAudit audit(problem, tensors, own, rule);
  const Dimensions& d = problem.dimensions;
  for (std::int64_t b = 0; b < d.batch; ++b) {
    for (std::int64_t g = 0; g < d.kv_heads; ++g) {
      // A KV head that no query head reads has no query gradient to judge.
      if (kind == GradientKind::query && audit.problem().group_of(g).empty()) continue;
      if (!holds_in(audit, kind, own, b, g)) return false;
    }
  }
  return true;
}

std::optional<GradientKind> gradient_kind(std::string_view output) {
  for (const GradientKind kind : gradient_kinds) {
    if (name(kind) == output) return kind;
  }
  return std::nullopt;
}

}  // namespace gqa
