// Which keys of a row round alike: their errors add up, where others average out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gqa/num/ball.hpp"

namespace gqa {

/// Positions among the visible keys of a row, two or more.
using EqualClass = std::vector<std::size_t>;

/// The members of every class that has two or more; `labels[k]` says in which the k-th key is.
/// Precondition: labels are small numbers, not negative.
std::vector<EqualClass> classes_of(std::span<const std::int64_t> labels);

/// What of a row is equal, and so rounds alike.
struct EqualClasses {
  /// Keys whose scores are equal: so are the roundings of the exponential and of the weight.
  std::vector<EqualClass> scores;
  /// Equal keys that are no class of `scores`, where a bias tells them apart, or other keys share
  /// their score: so are the errors of their products.
  std::vector<EqualClass> keys;
};

/// Of labels of the visible keys; empty ones: all differ.
EqualClasses equal_classes(std::span<const std::int64_t> scores,
                           std::span<const std::int64_t> keys);

/// Those of `members` with equal numbers, where they are two or more.
std::vector<EqualClass> equal_numbers(const EqualClass& members, std::span<const double> numbers);

/// The sum over classes of the squares of how many are in each.
double squared_sizes(const std::vector<EqualClass>& classes);

/// Labels of numbers, given by `order` from the least to the largest: neighbours for which
/// `may_be_equal` holds have the same.
template <class MayBeEqual>
std::vector<std::int64_t> labels_of_runs(std::span<const std::size_t> order,
                                         const MayBeEqual& may_be_equal) {
  std::vector<std::int64_t> labels(order.size());
  std::int64_t label = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && !may_be_equal(order[i - 1], order[i])) ++label;
    labels[order[i]] = label;
  }
  return labels;
}

/// The same of enclosed numbers: those that their enclosures do not tell apart.
std::vector<std::int64_t> labels_of_enclosed(const std::vector<Ball>& numbers);

}  // namespace gqa
