// How a fuzz target is written, so that libFuzzer can run it alone and the test program all of
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace gqa::fuzz {

using Target = int (*)(const std::uint8_t* data, std::size_t size);

/// Adds a target to the table of the test program; `suffix` chooses its seeds among the fixtures.
struct Registration {
  Registration(const char* name, const char* suffix, Target target);
};

/// The target found a fault.
[[noreturn]] inline void fail() {
  std::abort();
}

}  // namespace gqa::fuzz

#ifdef GQAVERIFY_FUZZ_TOGETHER
#define GQAVERIFY_FUZZ_TARGET(name, suffix)                                             \
  static int name##_once(const std::uint8_t* data, std::size_t size);                   \
  static const gqa::fuzz::Registration name##_registration(#name, suffix, name##_once); \
  static int name##_once(const std::uint8_t* data, std::size_t size)
#else
#define GQAVERIFY_FUZZ_TARGET(name, suffix) \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
#endif
