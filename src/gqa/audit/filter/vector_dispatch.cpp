#include "gqa/audit/filter/vector_dispatch.hpp"

#if HWY_ARCH_X86 && (HWY_TARGETS & (HWY_TARGETS - 1)) != 0

#include <cpuid.h>

#include <array>
#include <initializer_list>

namespace gqa {

namespace {

// Registers a, b, c, d of a leaf of CPUID; zeros where the processor has no such leaf.
using Leaf = std::array<unsigned, 4>;
Leaf processor_leaf(unsigned number) {
  Leaf r{};
  __get_cpuid_count(number, 0, r.data(), &r[1], &r[2], &r[3]);
  return r;
}

// All of these bits of a register.
bool has(unsigned value, std::initializer_list<unsigned> bits) {
  for (const unsigned bit : bits) {
    if ((value >> bit & 1U) == 0) return false;
  }
  return true;
}

// XCR0: the registers that the operating system saves. Precondition: OSXSAVE.
unsigned saved_registers() {
  unsigned low = 0;
  unsigned high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

}  // namespace

// Bits: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2A, CPUID; LZCNT of
// leaf 0x80000001 also AMD64 Architecture Programmer's Manual, volume 3, appendix E.
std::int64_t supported_vector_targets() {
  // What the program itself was compiled for.
  std::int64_t targets = HWY_STATIC_TARGET;
  const auto [a1, b1, c1, d1] = processor_leaf(1);
  const auto [a7, b7, c7, d7] = processor_leaf(7);
  if (!has(c1, {0, 9})) return targets;  // SSE3, SSSE3
  targets |= HWY_SSSE3;
  if (!has(c1, {1, 19, 20, 25})) return targets;  // PCLMULQDQ, SSE4.1, SSE4.2, AES
  targets |= HWY_SSE4;
  // OSXSAVE, AVX, FMA, F16C; LZCNT; BMI1, AVX2, BMI2; the operating system saves xmm and ymm.
  if (!has(c1, {27, 28, 12, 29}) || !has(processor_leaf(0x80000001)[2], {5}) ||
      !has(b7, {3, 5, 8}) || !has(saved_registers(), {1, 2})) {
    return targets;
  }
  targets |= HWY_AVX2;
  // AVX-512 F, DQ, CD, BW, VL; the operating system saves the masks and both parts of zmm.
  if (!has(b7, {16, 17, 28, 30, 31}) || !has(saved_registers(), {5, 6, 7})) return targets;
  return targets | HWY_AVX3;
}

hwy::ChosenTarget& chosen_vector_target() {
  struct Choice : hwy::ChosenTarget {
    Choice() { Update(supported_vector_targets()); }
  };
  static Choice choice;
  return choice;
}

}  // namespace gqa

#endif
