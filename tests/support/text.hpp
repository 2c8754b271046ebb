// What tests ask of a text.
#pragma once

#include <string>

namespace gqa::test {

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace gqa::test
