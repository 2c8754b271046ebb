// The projections of the heads of one group.
#pragma once

#include "gqa/theory/layer_declaration.hpp"
#include "gqa/theory/rational_matrix.hpp"

namespace gqa {

/// The projections of the G heads of one group, and what stands between them and the scores.
/// Shapes: key_weights [G, dk, D], value_weights [G, dv, D], query_weights [G, dk, D] or empty
/// (queries from elsewhere, any vector); biases [G, dk] or [G, dv], or empty.
struct ProjectionGroup {
  RationalMatrices key_weights, value_weights, query_weights;
  RationalMatrix key_biases, value_biases, query_biases;
  LayerDeclaration layer;

  std::size_t heads() const { return key_weights.size(); }
  std::size_t key_size() const { return key_weights[0].size(); }
  std::size_t width() const { return key_weights[0][0].size(); }
};

}  // namespace gqa
