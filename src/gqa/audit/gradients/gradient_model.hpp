// The worst case of a precision model for the rows of one history.
#pragma once

#include "gqa/audit/gradients/gradient_facts.hpp"
#include "gqa/audit/gradients/gradient_likely.hpp"
#include "gqa/audit/gradients/gradient_worst.hpp"

namespace gqa {

/// The sizes of row `r` of the group, with the log-sum-exp of its scores and `terms` visible keys
/// (and the sink).
template <class T>
GradientRowSize<T> gradient_row_size(const GradientProblem& gradient, const GradientFacts& facts,
                                     std::size_t r, std::int64_t terms, const T& lse,
                                     const T& scale) {
  const Dimensions& d = gradient.problem.dimensions;
  const auto head = facts.heads[r / static_cast<std::size_t>(d.queries)];
  GradientRowSize<T> row;
  row.terms = terms;
  row.key_size = d.key_size;
  row.value_size = d.value_size;
  row.group_rows = facts.rows();
  row.group_heads = static_cast<std::int64_t>(facts.heads.size());
  row.has_bias = gradient.problem.has_bias();
  row.has_grad_lse = gradient.grad_lse.has_value();
  row.scale = scale;
  row.softcap = T(gradient.problem.contract.softcap.get_d());
  row.query_norm = T(facts.query_norm[r]);
  row.key_norm = T(facts.key_norm);
  row.grad_norm = T(facts.grad_norm[r]);
  row.value_norm = T(facts.value_norm);
  row.lse = lse;
  if (const auto sink = gradient.problem.sink_of(head)) row.sink = T(*sink);
  return row;
}

/// What a model of rounded operands makes of a backward pass: every product there is one of rounded
/// operands, too, as if each sum rounded its terms by that much.
PrecisionModel backward_model(const PrecisionModel& model);

/// The roundings of a model in that problem.
GradientRoundings gradient_roundings(const PrecisionModel& model, const GradientProblem& gradient);

/// What underflow adds to the worst case of one gradient before it is stored: `of_column` times the
/// column's magnitude (Magnitudes), and `absolute`. The same whichever rung asks.
struct GradientTiny {
  double of_column = 0;
  double absolute = 0;
};
GradientTiny gradient_tiny(const PrecisionModel& model, const GradientProblem& gradient,
                           const GradientFacts& facts, GradientKind kind);

}  // namespace gqa
