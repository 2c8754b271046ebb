// The floating-point environment that certified bounds rest on.
#pragma once

namespace gqa {

/// Does this thread's floating-point environment flush subnormal results or operands?
bool flushes_subnormals();
/// Does it round to nearest?
bool rounds_to_nearest();
/// Certified arithmetic of any kind converts and adds in binary64 somewhere.
/// Errors: std::runtime_error unless this thread keeps subnormals and rounds to nearest.
void require_ieee_arithmetic();

}  // namespace gqa
