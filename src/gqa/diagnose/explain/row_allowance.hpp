// How far a recorded row may be from what a behaviour gives.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gqa/audit/decide/tolerance.hpp"
#include "gqa/diagnose/evaluate/evaluated_row.hpp"
#include "gqa/diagnose/explain/row_place.hpp"
#include "gqa/num/float_format.hpp"

namespace gqa {

/// What the output of a row is multiplied by. A multiplied output is that of multiplied values, so
/// that the bounds of its rounding are those with these values.
double factor_on_values(const Behaviour& behaviour, const RowPlace& place);

/// Estimates, column by column and in binary64, of what the tolerance allows: for a model its
/// likely_bound with a margin of a thousandth. For search only: what a search accepts is decided
/// again by enclosures.
std::vector<double> estimated_allowance(const Behaviour& behaviour, const RowPlace& place,
                                        const EvaluatedRow<double>& row, const Tolerance& tolerance,
                                        const FloatFormat& format);

class LikelyEstimate;

/// The same, for some columns at a time: most hypotheses fail at the first one asked.
class AllowanceEstimate {
 public:
  /// Keeps references to all arguments.
  AllowanceEstimate(const Behaviour& behaviour, const RowPlace& place,
                    const EvaluatedRow<double>& row, const Tolerance& tolerance,
                    const FloatFormat& format);
  ~AllowanceEstimate();
  AllowanceEstimate(const AllowanceEstimate&) = delete;
  AllowanceEstimate& operator=(const AllowanceEstimate&) = delete;

  /// One number for each of the columns.
  std::vector<double> of(std::span<const std::size_t> columns) const;

 private:
  const EvaluatedRow<double>& row_;
  const Tolerance& tolerance_;
  const FloatFormat& format_;
  std::unique_ptr<LikelyEstimate> likely_;  ///< of a model
};

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
