// The number formats that kernels keep weights, scores and sums in, as operations on binary64.
//
// Every value of these formats is a binary64, and so is every product of two of them; a sum is
// rounded once, through the odd binary64 next to it.
#pragma once

#include <string_view>

#include "gqa/attention/element_type.hpp"

namespace gqa {

/// Formats that fit into binary32. TF32 has the exponents of binary32 and 11 bits.
enum class NarrowFormat { binary32, tf32, binary16, bfloat16, float8_e4m3fn, float8_e5m2 };
std::string_view name(NarrowFormat format);
/// Significand bits with the implicit one.
int precision_of(NarrowFormat format);
/// The format of an element type. Precondition: the type is one of the formats above.
NarrowFormat narrow_format(ElementType type);

enum class SumRounding { to_nearest, toward_zero };

/// The nearest number of the format, ties to even. Beyond the largest: infinity, or the largest
/// number of an 8-bit format (the saturating cast).
double rounded(double value, NarrowFormat format);
/// The same for results of an accumulator in binary32 or binary16.
double rounded(double value, NarrowFormat format, SumRounding rounding);
/// a + b, rounded once. Preconditions: a and b are numbers of the formats above, or products of
/// two.
double rounded_sum(double a, double b, NarrowFormat format, SumRounding rounding);

}  // namespace gqa
