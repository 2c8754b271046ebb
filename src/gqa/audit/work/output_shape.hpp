// Shapes of the outputs beside `output`.
#pragma once

#include <string>

#include "gqa/attention/tensor.hpp"

namespace gqa {

/// Errors: InputError at `where`: "contract.shape_rank", "contract.shape_mismatch";
/// "audit.nothing_to_audit" if the shape has no element: an empty output never passes.
void require_output_shape(const Shape& shape, const Shape& expected, const std::string& where);

}  // namespace gqa
