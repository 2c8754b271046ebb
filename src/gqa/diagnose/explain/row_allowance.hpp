// How far a recorded row may be from what a behaviour gives.
#pragma once

#include <cstdint>
#include <vector>

#include "gqa/audit/decide/tolerance.hpp"
#include "gqa/diagnose/evaluate/evaluated_row.hpp"
#include "gqa/num/float_format.hpp"

namespace gqa {

/// An element's place: batch, query head, query row.
struct RowPlace {
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t row = 0;
  friend bool operator==(const RowPlace&, const RowPlace&) = default;
};

/// What the output of a row is multiplied by. A multiplied output is that of multiplied values, so
/// that the bounds of its rounding are those with these values.
double factor_on_values(const Behaviour& behaviour, const RowPlace& place);

/// Estimates, column by column and in binary64, of what the tolerance allows: for a model its
/// likely_bound with a margin of a thousandth. For search only: what a search accepts is decided
/// again by enclosures.
std::vector<double> estimated_allowance(const Behaviour& behaviour, const RowPlace& place,
                                        const EvaluatedRow<double>& row, const Tolerance& tolerance,
                                        const FloatFormat& format);

/// What a stated tolerance, which is no model's, allows about `output`.
double stated_allowance(const Tolerance& tolerance, const FloatFormat& format, double output);

/// sigma_j^2 of every visible key's score under a model (score_variance); zeros under a stated
/// tolerance.
std::vector<double> score_variances(const Behaviour& behaviour, const RowPlace& place,
                                    const EvaluatedRow<double>& row, const Tolerance& tolerance);

/// What RoundingBound needs to know of a row.
RowRounding rounding_of(const Behaviour& behaviour, const RowPlace& place,
                        const EvaluatedRow<Ball>& row);

}  // namespace gqa
