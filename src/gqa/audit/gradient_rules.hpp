// Which wrong rule a wrong gradient follows.
#pragma once

#include <vector>

#include "gqa/audit/audit_outputs.hpp"
#include "gqa/audit/gradients/gradient_audit.hpp"

namespace gqa {

/// The rules that a gradient of that kind is tried with.
std::vector<GradientRule> candidate_rules(const AttentionProblem& problem, GradientKind kind);

/// The rules under which every element of the gradient is within options.tolerance, where the right
/// one has a violation: the part of one query head alone, divided by the size of the group (key and
/// value, groups of more than one head), without the scale (query and key), with the other sign.
/// Decided by the rungs of the audit itself; options.runner is not used.
///
/// `right`: what audit() found under the right rule.
/// Errors: those of GradientAudit.
std::vector<GradientRule> explaining_rules(const AttentionProblem& problem,
                                           const ProblemTensors& tensors, GradientKind kind,
                                           const AuditResult& right, const AuditOptions& options);

/// Does the rule, which need not be one of the above, leave no element of the gradient outside
/// options.tolerance, or open?
bool rule_holds(const AttentionProblem& problem, const ProblemTensors& tensors, GradientKind kind,
                const GradientRule& rule, const AuditOptions& options);

/// The kind whose name an output bears, if it is a gradient's.
std::optional<GradientKind> gradient_kind(std::string_view output);

}  // namespace gqa
