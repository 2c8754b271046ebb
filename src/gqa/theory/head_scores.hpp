// The scores of one head of a group, its own and those by the mean projection.
#pragma once

#include "gqa/theory/projection_group.hpp"

namespace gqa {

/// Precondition: the group's shapes fit (weight_pooling_loss checks them).
class HeadScores {
 public:
  HeadScores(const ProjectionGroup& group, std::size_t head);

  /// Does some score of some input change, by more than what is common to its row?
  bool change() const;

  /// The query of an input, up to the positive factor of its normalisation. Precondition: there are
  /// query projections.
  RationalVector query(const RationalVector& input) const;
  RationalVector key(const RationalVector& input) const;
  RationalVector pooled_key(const RationalVector& input) const;
  RationalVector key_change(const RationalVector& input) const;
  /// Of normalised keys: probe.(g o n(k)) = probe.(g o n(mean k)).
  bool normalised_keys_agree(const RationalVector& probe, const RationalVector& input) const;

 private:
  RationalMatrix query_span() const;
  RationalMatrix probes() const;
  bool biases_change() const;

  const ProjectionGroup& group_;
  std::size_t head_;
  RationalMatrix mean_key_;
  RationalVector mean_bias_;
};

/// One at `at`, zero elsewhere.
RationalVector unit_vector(std::size_t size, std::size_t at);

/// The vector's coordinates listed; zero elsewhere.
RationalVector restricted(const RationalVector& vector, const std::vector<std::size_t>& kept);

}  // namespace gqa
