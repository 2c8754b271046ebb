// A pool for the small blocks that GMP keeps its numbers in.
#pragma once

namespace gqa {

/// Makes GMP take blocks of at most 32 bytes (four limbs) from free lists, one a thread.
///
/// Exact fractions are mostly one limb over one limb, so a program that computes with many
/// of them spends more time in the general allocator than in arithmetic (measured: half of
/// the enumeration). The lists keep what was freed for the life of the thread.
///
/// Call it first thing in main: GMP must not have allocated anything before (GMP manual,
/// section "Custom Allocation"). It is a choice for a whole program, so the library never
/// makes it.
void use_limb_pool();

}  // namespace gqa
