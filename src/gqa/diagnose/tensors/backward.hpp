// The backward pass under a behaviour, in binary64.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "gqa/audit/gradients/gradient_problem.hpp"
#include "gqa/diagnose/explain/row_match.hpp"

namespace gqa {

/// What an implementation may do in its backward pass, beside the rules of its behaviour.
struct BackwardRule {
  Behaviour behaviour;  ///< the rules under which the weights are computed again
  /// Weights are exp(s - lse) and delta is grad_output . output, with lse and output of the right
  /// forward pass: what a fused backward pass reads. false: both follow from the behaviour.
  bool from_forward = false;
  bool without_delta = false;
  double grad_lse = 1;  ///< times what is declared: 0, it is dropped
  /// [Hq] or empty: the KV head to whose gradient a query head's part is added; -1: to none.
  std::vector<std::int64_t> sum_head = {};
  /// [B * Hq * T] or empty: added to delta.
  std::vector<double> delta_shift = {};
};

/// A gradient's elements, expected and recorded, with what rounding may do to them (roughly).
struct BackwardElements {
  std::vector<double> expected;
  std::vector<double> recorded;
  std::vector<double> allowed;
};

/// A recorded backward pass (unpacked), ready to be compared with rules.
class BackwardPass {
 public:
  /// Errors: those of make_diagnosis_case and of view_of. `tensors` has output and grad_output.
  BackwardPass(const ProblemTensors& tensors, const Contract& contract, const Tolerance& tolerance);

  const Behaviour& declared() const { return problem_.declared; }
  bool has_grad_lse() const { return !grad_lse_.empty(); }
  bool has(GradientKind kind) const { return views_[index(kind)].has_value(); }

  /// grad_query of that row alone.
  BackwardElements query_row(const BackwardRule& rule, const RowPlace& place) const;
  /// All gradients of one batch entry, [Hq, T, dk], [Hkv, S, dk] and [Hkv, S, dv].
  std::array<BackwardElements, 3> all(const BackwardRule& rule, std::int64_t batch) const;
  /// Multiplications of all() for every batch entry, about.
  double work() const;

  /// Of a row under the declared rules: scale times the sum of weights times keys, which is what
  /// one unit of delta moves grad_query by.
  std::vector<double> moved_by_delta(const RowPlace& place) const;

 private:
  struct Row;
  struct Sums;
  static std::size_t index(GradientKind kind) { return static_cast<std::size_t>(kind); }
  double grad_lse_at(const RowPlace& place) const;
  Row row_of(const BackwardRule& rule, const RowPlace& place) const;
  BackwardElements query_row(const BackwardRule& rule, const RowPlace& place, const Row& row) const;
  double allowance(double variance, double expected, const FloatFormat& format) const;

  DiagnosisCase problem_;
  OperandView grad_output_;
  std::vector<double> grad_lse_;  // [B * Hq * T], or empty
  std::array<std::optional<OperandView>, 3> views_;
  std::array<const FloatFormat*, 3> formats_{};
};

}  // namespace gqa
