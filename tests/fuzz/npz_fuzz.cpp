// libFuzzer target: the .npz reader answers any bytes with tensors or an InputError of
// its own, and never unpacks more than it allows.
//
// Build, from the top of the repository, after configuring the `dev` preset once
// (for the generated headers):
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Isrc -Itests
//     tests/fuzz/npz_fuzz.cpp src/gqa/io/np*.cpp
//     src/gqa/printable.cpp src/gqa/io/{file,json}.cpp src/gqa/attention/{tensor,typed_tensor}.cpp
//     src/gqa/num/{float_format,ball,rational}.cpp
//     -lzip -lfmt -lflint-arb -lflint -lgmpxx -lgmp -o npz_fuzz
// (upstream FLINT 3 needs no -lflint-arb). Run: ./npz_fuzz -max_total_time=60
#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/fuzz_target.hpp"
#include "gqa/error.hpp"
#include "gqa/io/npz.hpp"

GQAVERIFY_FUZZ_TARGET(npz, ".npz") {
  try {
    std::size_t unpacked = 0;
    for (const auto& [name, tensor] :
         gqa::parse_npz(std::as_bytes(std::span(data, size)), "input")) {
      unpacked += tensor.bytes.size();
    }
    if (unpacked > gqa::max_npz_content(size)) gqa::fuzz::fail();
  } catch (const gqa::InputError& error) {
    if (!error.code().starts_with("np") || !error.where().starts_with("input")) gqa::fuzz::fail();
  }
  return 0;
}
