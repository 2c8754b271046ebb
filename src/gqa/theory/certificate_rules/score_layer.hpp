// What stands between the projections and the scores of a layer, as certificates declare it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gqa/theory/certificate_fields.hpp"

namespace gqa::certificate_rules {

/// The field "layer": null (nothing stands between), or an object of
/// - planes: pairs of coordinates as one flat list of integers, or null: no rotary embedding;
/// - rotations [planes, 2]: cosine and sine by which one position turns each plane, or null: the
///   angles are real numbers strictly between 0 and pi, no two alike;
/// - query_biases [G, dk], key_biases [G, dk], value_biases [G, dv], each or null;
/// - query_norm [dk], key_norm [dk], each or null: the factors by which coordinates of x /
/// sqrt(|x|^2
///   / dk + epsilon) are multiplied, before rotation; norm_epsilon > 0, null without either.
/// Biases of normalised keys are rejected: what is proved does not cover them.
struct ScoreLayer {
  bool declared = false;
  std::vector<std::pair<std::size_t, std::size_t>> planes;
  std::optional<RationalMatrix> rotations;
  std::optional<RationalMatrix> query_biases, key_biases, value_biases;
  std::optional<RationalVector> query_norm, key_norm;
  Rational norm_epsilon;

  bool has_distinct_angles() const { return !planes.empty() && !rotations; }
  /// The vector turned as `positions` positions turn it. Precondition: rotations, or no planes.
  RationalVector turned(RationalVector vector, std::int64_t positions) const;
  /// The coordinates that no plane has.
  std::vector<std::size_t> coordinates_at_rest(std::size_t size) const;

  /// "layers with rotary embedding ..., without biases ...": the hypotheses of what is proved.
  std::string words() const;
};

ScoreLayer read_score_layer(CertificateFields& fields);

/// Rejects planes and vectors that do not fit keys of dk coordinates of G heads.
void require_fits(const ScoreLayer& layer, std::size_t heads, std::size_t key_size);

}  // namespace gqa::certificate_rules
