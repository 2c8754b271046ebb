// libFuzzer target: the safetensors reader answers any bytes with a file or an InputError,
// and writes back what it read.
//
// Build, from the top of the repository, after configuring the `dev` preset once
// (for the generated headers):
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Isrc -Itests
//     tests/fuzz/safetensors_fuzz.cpp src/gqa/printable.cpp src/gqa/io/{file,json,safetensors*}.cpp
//     src/gqa/attention/{tensor,typed_tensor}.cpp src/gqa/num/{float_format,ball,rational}.cpp
//     -lfmt -lflint-arb -lflint -lgmpxx -lgmp -o safetensors_fuzz
// (upstream FLINT 3 needs no -lflint-arb). Run: ./safetensors_fuzz -max_total_time=60
#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/fuzz_target.hpp"
#include "gqa/error.hpp"
#include "gqa/io/safetensors.hpp"

GQAVERIFY_FUZZ_TARGET(safetensors, ".safetensors") {
  try {
    const gqa::SafetensorsFile file =
        gqa::parse_safetensors(std::as_bytes(std::span(data, size)), "input");
    const gqa::SafetensorsFile again =
        gqa::parse_safetensors(gqa::serialize_safetensors(file), "written");
    if (again.metadata != file.metadata || again.tensors.size() != file.tensors.size()) {
      gqa::fuzz::fail();
    }
  } catch (const gqa::InputError& error) {
    // Only the first parse may refuse.
    if (!error.where().starts_with("input")) gqa::fuzz::fail();
  }
  return 0;
}
