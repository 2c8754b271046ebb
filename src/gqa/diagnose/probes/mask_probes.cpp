// Probes of explicit masks, of hidden slots that hold NaN, and of empty rows.
#include <limits>

#include "gqa/diagnose/probes/probe_builder.hpp"

namespace gqa {
namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// The generic operand, with NaN in one row.
ProbeBuilder::Rule poisoned(std::int64_t row, bool every_column) {
  return [row, every_column](std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
    if (s == row && (every_column || d == 1)) return nan;
    return static_cast<double>((3 * b + 5 * h + 7 * s + 2 * d) % 5 - 2);
  };
}

}  // namespace

std::vector<Probe> mask_probes(ElementType type) {
  std::vector<Probe> probes;
  // float8 e4m3fn has no infinity: there the mask hides with a boolean in its place.
  const bool has_infinity = float_format(type)->has_infinity;
  probes.push_back(ProbeBuilder(type, "mask", "a boolean mask: its polarity and its fill",
                                {.queries = 2, .keys = 4})
                       .boolean_mask({2, 4}, {1, 0, 1, 1, 0, 1, 0, 1})
                       .build());
  probes.push_back(ProbeBuilder(type, "mask_per_head",
                                "a mask with a head axis, and a row without a key",
                                {.queries = 2, .keys = 3})
                       .boolean_mask({1, 4, 2, 3}, {1, 0, 0, 1, 1, 0,  //
                                                    0, 1, 0, 0, 1, 1,  //
                                                    0, 0, 1, 1, 0, 1,  //
                                                    1, 1, 0, 0, 0, 0})
                       .build());
  probes.push_back(ProbeBuilder(type, "mask_and_causal",
                                "rows whose keys are hidden by one rule or by both",
                                {.queries = 3, .keys = 3})
                       .causal()
                       .boolean_mask({3, 3}, {0, 0, 1, 0, 0, 0, 1, 0, 1})
                       .build());
  std::vector<double> bias{0.5, -1, 2, -0.5, 1, 0, -2, 1.5};
  if (has_infinity) bias[1] = bias[6] = minus_infinity;
  probes.push_back(ProbeBuilder(type, "mask_float", "a mask that is added to the scores",
                                {.queries = 2, .keys = 4})
                       .float_mask({2, 4}, bias)
                       .build());
  probes.push_back(ProbeBuilder(type, "hidden_value_nan", "NaN in the value of a hidden key",
                                {.queries = 2, .keys = 3})
                       .boolean_mask({2, 3}, {1, 0, 1, 1, 0, 1})
                       .value(poisoned(1, false))
                       .build());
  probes.push_back(
      ProbeBuilder(type, "hidden_key_nan", "NaN in a hidden key", {.queries = 2, .keys = 3})
          .boolean_mask({2, 3}, {1, 0, 1, 1, 0, 1})
          .key(poisoned(1, true))
          .build());
  return probes;
}

}  // namespace gqa
