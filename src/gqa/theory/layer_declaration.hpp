// What stands between the projections and the scores of a layer whose heads are pooled.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gqa/theory/rational_matrix.hpp"

namespace gqa {

/// Rotary embedding: position j turns each plane (two coordinates of queries and keys) j times.
struct RotaryDeclaration {
  std::vector<std::pair<std::size_t, std::size_t>> planes;
  /// Cosine and sine of each plane; nullopt: distinct real angles strictly between 0 and pi, as
  /// base^(-2p/r) for p = 0, 1, ... are for every base > 1.
  std::optional<RationalMatrix> rotations;
};

/// Declared, never guessed; empty: scores are products of the projections as they are.
struct LayerDeclaration {
  std::optional<RotaryDeclaration> rotary;
  /// Factors of coordinates normalised by x / sqrt(|x|^2 / dk + epsilon) before the rotation, the
  /// same for all heads (Qwen3's query-key normalisation).
  std::optional<RationalVector> query_norm, key_norm;
  std::optional<Rational> norm_epsilon;  ///< above 0

  bool has_distinct_angles() const { return rotary && !rotary->rotations; }
  /// The vector turned by so many positions. Precondition: the rotations are stated, or none are.
  RationalVector turned(RationalVector vector, long positions) const;
  /// Every plane's coordinates, and last those of no plane.
  std::vector<std::vector<std::size_t>> parts(std::size_t key_size) const;
};

/// From {"rotary": {"pairs": "halves" or "adjacent", "size": r, "rotations": [[c, s], ...] or
/// "angles": "distinct"}, "query_norm": [dk], "key_norm": [dk], "norm_epsilon": "1e-6"}, all
/// optional; pairs are coordinates p and p + r/2 (Llama, GPT-NeoX) or 2p and 2p + 1 (GPT-J), the
/// size is that of keys if it is left out.
/// Errors: InputError at "`where`: field": "fixture.unknown_field", "fixture.field_type",
/// "layer.rotary", "layer.rotation" (c^2 + s^2 is not 1), "layer.norm", those of parse_rational.
LayerDeclaration layer_from_json(const nlohmann::json& json, std::size_t key_size,
                                 const std::string& where);

}  // namespace gqa
