// Bits and rounding of an accumulator, from sums that cancel.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gqa/diagnose/arithmetic/narrow_format.hpp"

namespace gqa {

enum class AccumulatorRounding {
  nearest_even,
  nearest_away,
  toward_zero,
  upward,
  downward,
  unknown
};
std::string_view name(AccumulatorRounding rounding);

struct Accumulator {
  int precision = 0;  ///< bits; 0: not even four
  AccumulatorRounding rounding = AccumulatorRounding::unknown;

  /// "binary32", "11 bits (binary16)", ...
  std::string format_text() const;
  /// The format of the models that probes predict with.
  NarrowFormat format() const {
    return precision == 11 ? NarrowFormat::binary16 : NarrowFormat::binary32;
  }
  SumRounding sum_rounding() const {
    return rounding == AccumulatorRounding::toward_zero ? SumRounding::toward_zero
                                                        : SumRounding::to_nearest;
  }
};

/// Four terms: two siblings of the tree, the term that joins them next, and the last one of all.
using FourTerms = std::array<double, 4>;
/// Computes the sums of rows of four terms; nullopt: refused.
using FourTermSums =
    std::function<std::optional<std::vector<double>>(const std::vector<FourTerms>&)>;

/// Precision: (2^(k+2), 4, 0, -2^(k+2)) is 4 as long as the first sum holds k + 1 bits, else 0 (or
/// 8). Rounding, with B = 2^(p+2) of which the unit is 8: (B, 6, 0, -B), (B, 2, 0, -B), (-B, -6, 0,
/// B) give 1, 0, -1 units to nearest and 0, 0, 0 toward zero; (B, 4, 0, -B) and (B, 8, 4, -B) are
/// ties. Two calls.
std::optional<Accumulator> read_accumulator(const FourTermSums& sums);

}  // namespace gqa
