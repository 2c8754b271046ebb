// libFuzzer target: the ONNX model reader answers any bytes with a model or an
// InputError of its own, and so does the binding of a model to tensors.
//
// Build, from the top of the repository, after configuring the `dev` preset once
// (for the generated headers):
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Isrc -Itests
//     tests/fuzz/onnx_model_fuzz.cpp src/gqa/io/{onnx*,protobuf_reader}.cpp
//     src/gqa/attention/contract.cpp src/gqa/printable.cpp src/gqa/io/{file,json}.cpp
//     src/gqa/attention/{tensor,typed_tensor}.cpp src/gqa/num/{float_format,ball,rational}.cpp
//     -lfmt -lflint-arb -lflint -lgmpxx -lgmp -o onnx_model_fuzz
// (upstream FLINT 3 needs no -lflint-arb). Run: ./onnx_model_fuzz -max_total_time=60
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "fuzz/fuzz_target.hpp"
#include "gqa/error.hpp"
#include "gqa/io/onnx_attention.hpp"
#include "gqa/io/onnx_model.hpp"

namespace {

// The same small tensor for every value, of rank 3 or 4 as the input's length decides.
gqa::OnnxValues values_for(const gqa::OnnxModel& model, std::size_t rank) {
  const auto tensor = std::make_shared<const gqa::TypedTensor>(
      gqa::TypedTensor{gqa::ElementType::binary32, gqa::Shape(rank, 1), std::vector<std::byte>(4)});
  gqa::OnnxValues values;
  for (const std::string& name : model.inputs) values[name] = tensor;
  for (const std::string& name : model.outputs) values[name] = tensor;
  return values;
}

}  // namespace

GQAVERIFY_FUZZ_TARGET(onnx_model, ".onnx") {
  try {
    const gqa::OnnxModel model =
        gqa::parse_onnx_model(std::as_bytes(std::span(data, size)), "input");
    gqa::bind_onnx_attention(model, values_for(model, 3 + size % 2), "input");
  } catch (const gqa::InputError& error) {
    const bool own = error.code().starts_with("onnx.") || error.code().starts_with("contract.");
    if (!own || !error.where().starts_with("input")) gqa::fuzz::fail();
  }
  return 0;
}
