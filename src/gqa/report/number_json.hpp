// Numbers in JSON: infinities and NaN, which JSON has no literal for, become strings.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

namespace gqa {

inline nlohmann::ordered_json number_json(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

}  // namespace gqa
