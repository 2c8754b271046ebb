// Faults of the scale.
#include <array>

#include "gqa/diagnose/faults/fault.hpp"

namespace gqa {
namespace {

Ball inverse_root(std::int64_t n) {
  return Ball(1) / sqrt(Ball(static_cast<double>(n)));
}

Edit rescale(Behaviour& b, Ball scale) {
  const PrecisionScope precision(128);
  const bool same = less_equal(abs(scale - b.scale), Ball(0x1p-80) * b.scale).certainly();
  b.scale = std::move(scale);
  return same ? Edit::same : Edit::changed;
}

Edit apply_scale_missing(Behaviour& b, std::int64_t) {
  return rescale(b, Ball(1));
}
Edit apply_twice(Behaviour& b, std::int64_t) {
  return rescale(b, b.scale * b.scale);
}
Edit apply_model_width(Behaviour& b, std::int64_t) {
  return rescale(b, inverse_root(b.query_heads() * b.key_size()));
}
Edit apply_head_count(Behaviour& b, std::int64_t) {
  return rescale(b, inverse_root(b.query_heads()));
}
Edit apply_value_size(Behaviour& b, std::int64_t) {
  return rescale(b, inverse_root(b.value_size()));
}
Edit apply_argument_ignored(Behaviour& b, std::int64_t) {
  if (!b.contract.scale) return Edit::not_applicable;
  return rescale(b, inverse_root(b.key_size()));
}
Edit apply_on_weights(Behaviour& b, std::int64_t) {
  b.score_scaled = false;
  b.output_factor = b.scale;
  const PrecisionScope precision(128);
  return b.scale.contains(Rational(1)) ? Edit::same : Edit::changed;
}

constexpr std::array scale_kinds{
    FaultKind{"scale.missing", "the scores are not scaled", "s = q.k", apply_scale_missing},
    FaultKind{"scale.twice", "the scale is applied twice", "s = scale^2 q.k", apply_twice},
    FaultKind{"scale.model_width", "the scale is taken from the model's width",
              "1 / sqrt(Hq dk) instead of 1 / sqrt(dk)", apply_model_width},
    FaultKind{"scale.head_count", "the scale is taken from the number of heads",
              "1 / sqrt(Hq) instead of 1 / sqrt(dk)", apply_head_count},
    FaultKind{"scale.value_size", "the scale is taken from the value's width",
              "1 / sqrt(dv) instead of 1 / sqrt(dk)", apply_value_size},
    FaultKind{"scale.argument_ignored", "the given scale is ignored",
              "1 / sqrt(dk) instead of what was passed", apply_argument_ignored},
    FaultKind{"scale.on_weights", "the weights are scaled instead of the scores",
              "scale * softmax(q.k)", apply_on_weights},
};

}  // namespace

std::span<const FaultKind> scale_faults() {
  return scale_kinds;
}

}  // namespace gqa
