// Which of a vector function's versions runs: Highway's choice, made without its library.
//
// libhwy measures the clock when it is loaded (6 ms, more than all other libraries together), and
// nothing of it is needed but the question what the processor supports. On other processors than
// x86, Highway's own dispatch is taken.
//
// Include in the part of a file that is compiled once (HWY_ONCE), after <hwy/highway.h>.
#pragma once

#include <hwy/highway.h>

#include <cstdint>

#if HWY_ARCH_X86 && (HWY_TARGETS & (HWY_TARGETS - 1)) != 0

namespace gqa {

/// The instruction sets of Highway (HWY_AVX2, ...) that this processor and its operating system
/// support, by the rules of Highway: each needs all that a compiler may use for it.
std::int64_t supported_vector_targets();

/// The choice, one for the process; made when it is first asked for.
hwy::ChosenTarget& chosen_vector_target();

}  // namespace gqa

// The first entry of a table is Highway's place for a choice not made yet.
#define GQA_VECTOR_EXPORT(function)                                                        \
  static decltype(&HWY_STATIC_DISPATCH(function)) const HWY_DISPATCH_TABLE(                \
      function)[HWY_MAX_DYNAMIC_TARGETS + 2] = {nullptr, HWY_CHOOSE_TARGET_LIST(function), \
                                                HWY_CHOOSE_FALLBACK(function)}
#define GQA_VECTOR_DISPATCH(function) \
  (*(HWY_DISPATCH_TABLE(function)[gqa::chosen_vector_target().GetIndex()]))

#else

#define GQA_VECTOR_EXPORT(function) HWY_EXPORT(function)
#define GQA_VECTOR_DISPATCH(function) HWY_DYNAMIC_DISPATCH(function)

#endif
