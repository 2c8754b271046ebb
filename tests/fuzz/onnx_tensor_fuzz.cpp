// libFuzzer target: the ONNX tensor reader answers any bytes with a tensor of its
// shape or an InputError of its own.
//
// Build, from the top of the repository, after configuring the `dev` preset once
// (for the generated headers):
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Isrc -Itests
//     tests/fuzz/onnx_tensor_fuzz.cpp src/gqa/io/{onnx_tensor,protobuf_reader}.cpp
//     src/gqa/printable.cpp src/gqa/io/{file,json}.cpp src/gqa/attention/{tensor,typed_tensor}.cpp
//     src/gqa/num/{float_format,ball,rational}.cpp
//     -lfmt -lflint-arb -lflint -lgmpxx -lgmp -o onnx_tensor_fuzz
// (upstream FLINT 3 needs no -lflint-arb). Run: ./onnx_tensor_fuzz -max_total_time=60
#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/fuzz_target.hpp"
#include "gqa/error.hpp"
#include "gqa/io/onnx_tensor.hpp"

GQAVERIFY_FUZZ_TARGET(onnx_tensor, ".pb") {
  try {
    const gqa::TypedTensor tensor =
        gqa::parse_onnx_tensor(std::as_bytes(std::span(data, size)), "input").tensor;
    const auto count = static_cast<std::size_t>(gqa::element_count(tensor.shape));
    if (tensor.bytes.size() != count * gqa::element_size(tensor.type)) gqa::fuzz::fail();
  } catch (const gqa::InputError& error) {
    if (!error.code().starts_with("onnx.") || !error.where().starts_with("input"))
      gqa::fuzz::fail();
  }
  return 0;
}
