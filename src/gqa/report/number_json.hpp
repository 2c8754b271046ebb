// Numbers in JSON: infinities and NaN, which JSON has no literal for, and exact ones, are strings.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

namespace gqa {

inline nlohmann::ordered_json number_json(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

/// "(3, 1/2)", of a list of exact numbers as a certificate holds it.
inline std::string list_text(const nlohmann::ordered_json& list) {
  std::string text = "(";
  for (const auto& number : list) {
    text += (text.size() > 1 ? ", " : "") + number.get<std::string>();
  }
  return text + ")";
}

}  // namespace gqa
