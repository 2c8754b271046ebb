// Where outputs can lie: the open segment between two values, and the open simplex.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gqa/attention/tensor.hpp"
#include "gqa/num/rational.hpp"

namespace gqa {

/// The weight w of the first value with point = w first + (1 - w) second, or nullopt if
/// the point is not on the line through both. All spans have the same size >= 1.
/// Errors: InputError at "segment" with code "segment.shape", or
/// "segment.not_in_general_position" if the values coincide.
std::optional<Rational> line_weight(std::span<const Rational> first,
                                    std::span<const Rational> second,
                                    std::span<const Rational> point);

/// Is the point reached by a softmax with finite scores over the two values? Exactly if
/// 0 < w < 1: the end points are limits that no finite score attains.
bool on_open_segment(std::span<const Rational> first, std::span<const Rational> second,
                     std::span<const Rational> point);

/// The affine coordinates of a point: weights w with sum 1 and sum w_j values[j] = point,
/// or nullopt if the point is off the affine hull.
///
/// `values` is [N, d] in general position (affinely independent), so that the weights are
/// unique; a point is attainable exactly if all are positive.
/// Errors: InputError at "values" with code "segment.shape",
/// "segment.not_in_general_position".
std::optional<std::vector<Rational>> affine_weights(MatrixView<const Rational> values,
                                                    std::span<const Rational> point);

/// All weights strictly positive.
bool is_attainable(const std::optional<std::vector<Rational>>& weights);

}  // namespace gqa
