// The names that safetensors gives to element types.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gqa/attention/typed_tensor.hpp"

namespace gqa {

/// "F32" -> binary32; nullopt for a dtype that is not supported.
std::optional<ElementType> element_type_from_safetensors(std::string_view dtype);

/// binary32 -> "F32".
std::string_view safetensors_dtype(ElementType type);

/// "F64, F32, ..." for error messages.
std::string supported_safetensors_dtypes();

}  // namespace gqa
