#include "gqa/io/safetensors_dtype.hpp"

#include <array>
#include <utility>

namespace gqa {
namespace {

// In the order of ElementType.
constexpr std::array<std::pair<ElementType, std::string_view>, 11> dtypes{{
    {ElementType::binary64, "F64"},
    {ElementType::binary32, "F32"},
    {ElementType::binary16, "F16"},
    {ElementType::bfloat16, "BF16"},
    {ElementType::float8_e4m3fn, "F8_E4M3"},
    {ElementType::float8_e5m2, "F8_E5M2"},
    {ElementType::boolean, "BOOL"},
    {ElementType::int8, "I8"},
    {ElementType::uint8, "U8"},
    {ElementType::int32, "I32"},
    {ElementType::int64, "I64"},
}};

}  // namespace

std::optional<ElementType> element_type_from_safetensors(std::string_view dtype) {
  for (const auto& [type, dtype_name] : dtypes) {
    if (dtype_name == dtype) return type;
  }
  return std::nullopt;
}

std::string_view safetensors_dtype(ElementType type) {
  return dtypes.at(static_cast<std::size_t>(type)).second;
}

std::string supported_safetensors_dtypes() {
  std::string result;
  for (const auto& [type, dtype_name] : dtypes) {
    if (!result.empty()) result += ", ";
    result += dtype_name;
  }
  return result;
}

}  // namespace gqa
