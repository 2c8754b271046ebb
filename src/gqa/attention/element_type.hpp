// The types that elements of tensors have.
#pragma once

#include <cstddef>
#include <string_view>

namespace gqa {

// g++ takes a scoped enumerator for a shadow of the namespace's name.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
/// What the bits of an element mean.
enum class ElementType {
  binary64,
  binary32,
  binary16,
  bfloat16,
  float8_e4m3fn,
  float8_e5m2,
  boolean,
  int8,
  uint8,
  int32,
  int64,
};
#pragma GCC diagnostic pop

/// "binary32", "bool", "int64", ...
std::string_view name(ElementType type);
/// Bytes of one element.
std::size_t element_size(ElementType type);

}  // namespace gqa
