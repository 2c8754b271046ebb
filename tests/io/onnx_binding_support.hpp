// Tensors for the nodes of the binding tests, and what they are bound to.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "gqa/io/onnx_attention.hpp"
#include "io/io_support.hpp"
#include "io/onnx_support.hpp"

namespace gqa::test {

inline std::shared_ptr<const TypedTensor> tensor(Shape shape,
                                                 ElementType type = ElementType::binary32) {
  const auto count = static_cast<std::size_t>(element_count(shape));
  return std::make_shared<const TypedTensor>(
      TypedTensor{type, std::move(shape), std::vector<std::byte>(count * element_size(type))});
}

inline std::shared_ptr<const TypedTensor> int32_tensor(std::initializer_list<std::int32_t> values) {
  TypedTensor result{ElementType::int32, {static_cast<std::int64_t>(values.size())}, {}};
  for (const std::int32_t value : values) {
    const auto bytes = to_bytes(little_endian(static_cast<std::uint32_t>(value), 4));
    result.bytes.insert(result.bytes.end(), bytes.begin(), bytes.end());
  }
  return std::make_shared<const TypedTensor>(std::move(result));
}

inline const std::vector<std::string> attention_inputs{"Q",        "K",          "V",      "mask",
                                                       "past_key", "past_value", "lengths"};

// B=2, Hq=4, Hkv=2, T=3, S=5, P=6, d=8.
inline OnnxValues rank4_values() {
  return {{"Q", tensor({2, 4, 3, 8})},
          {"K", tensor({2, 2, 5, 8})},
          {"V", tensor({2, 2, 5, 8})},
          {"mask", tensor({3, 5})},
          {"past_key", tensor({2, 2, 6, 8})},
          {"past_value", tensor({2, 2, 6, 8})},
          {"lengths", tensor({2}, ElementType::int64)},
          {"Y", tensor({2, 4, 3, 8})},
          {"present_key", tensor({2, 2, 11, 8})},
          {"present_value", tensor({2, 2, 11, 8})},
          {"qk", tensor({2, 4, 3, 11})}};
}

// The same with the heads folded into the last axis; T = S = 5 for GroupQueryAttention.
inline OnnxValues rank3_values() {
  OnnxValues values = rank4_values();
  values["Q"] = tensor({2, 5, 32});
  values["K"] = tensor({2, 5, 16});
  values["V"] = tensor({2, 5, 16});
  values["Y"] = tensor({2, 5, 32});
  values["seqlens_k"] = int32_tensor({10, 10});
  values["total"] = int32_tensor({11});
  values["sink"] = tensor({4});
  values["bias"] = tensor({1, 1, 5, 11});
  return values;
}

inline Recording recording_of(const ModelText& text, const OnnxValues& values) {
  return bind_onnx_attention(parse_onnx_model(to_bytes(text.bytes()), "f"), values, "f");
}

inline void check_refused(const ModelText& text, const OnnxValues& values, const std::string& code,
                          const std::string& where) {
  check_error([&] { recording_of(text, values); }, code, where);
}

}  // namespace gqa::test
