// How far a recorded row may be from what a behaviour gives.
#pragma once

#include <cstdint>
#include <vector>

#include "gqa/audit/tolerance.hpp"
#include "gqa/diagnose/evaluated_row.hpp"
#include "gqa/num/float_format.hpp"

namespace gqa {

/// An element's place: batch, query head, query row.
struct RowPlace {
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t row = 0;
  friend bool operator==(const RowPlace&, const RowPlace&) = default;
};

/// Estimates, column by column and in binary64, of what the tolerance allows: for a model its
/// likely bound by the formula of THEORY 3, times a factor that covers what the formula leaves
/// out. For search only: what a search accepts is decided again by enclosures.
std::vector<double> estimated_allowance(const Behaviour& behaviour, const RowPlace& place,
                                        const EvaluatedRow<double>& row, const Tolerance& tolerance,
                                        const FloatFormat& format);

/// What RoundingBound needs to know of a row.
RowRounding rounding_of(const Behaviour& behaviour, const RowPlace& place,
                        const EvaluatedRow<Ball>& row);

}  // namespace gqa
