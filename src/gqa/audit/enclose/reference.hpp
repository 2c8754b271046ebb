// The exact output as numbers with certified radii.
#pragma once

#include "gqa/attention/attention_problem.hpp"
#include "gqa/attention/tensor.hpp"

namespace gqa {

/// |exact - value| <= radius, element by element, all [B, Hq, T, dv].
///
/// The radius is mostly half an ulp of the value. A value is NaN where the contract gives no
/// number: with radius 0 in a row that must hold NaN (EmptyRow::nan), with an infinite radius in
/// a row that may hold anything (EmptyRow::any) and where a visible operand is not finite.
struct CertifiedReference {
  Tensor<double> value;
  Tensor<double> radius;
};

/// Encloses every output element, by ball arithmetic, in parallel over rows. `problem.output`
/// is not read.
CertifiedReference certified_reference(const AttentionProblem& problem);

}  // namespace gqa
