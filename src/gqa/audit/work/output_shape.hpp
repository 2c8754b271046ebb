// Shapes of the outputs beside `output`, and their views.
#pragma once

#include <memory>
#include <string>

#include "gqa/attention/strided_tensor.hpp"
#include "gqa/attention/tensor.hpp"

namespace gqa {

/// Errors: InputError at `where`: "contract.shape_rank", "contract.shape_mismatch";
/// "audit.nothing_to_audit" if the shape has no element: an empty output never passes.
void require_output_shape(const Shape& shape, const Shape& expected, const std::string& where);

/// One number for each row, [B, Hq, T] (lse, grad_lse), as [B, Hq, T, 1]: read like every other
/// tensor. Errors: those of StridedTensor at `where`.
StridedTensor one_column(const std::shared_ptr<const TypedTensor>& rows, const std::string& where);

}  // namespace gqa
