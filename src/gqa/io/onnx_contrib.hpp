// The attention operators of ONNX Runtime's com.microsoft domain.
#pragma once

#include "gqa/io/onnx_arguments.hpp"
#include "gqa/io/recording.hpp"

namespace gqa {

/// As bind_onnx_attention, for GroupQueryAttention and MultiHeadAttention.
Recording bind_group_query_attention(OnnxArguments& arguments);
Recording bind_multi_head_attention(OnnxArguments& arguments);

}  // namespace gqa
