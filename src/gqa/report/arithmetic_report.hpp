// Reports on the arithmetic that was read off a kernel.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "gqa/diagnose/arithmetic/kernel_arithmetic.hpp"

namespace gqa {

/// One line an entry: "  stored weights   bfloat16". "?" marks what is open, with all answers, and
/// "-" what is not identifiable, with the reason.
std::string arithmetic_text(const KernelArithmetic& arithmetic);
/// {"entries": [...], "calls": n, "reason": ...}, docs/json.md
nlohmann::ordered_json arithmetic_json(const KernelArithmetic& arithmetic);

}  // namespace gqa
