// Faults of attention sinks.
#include <array>

#include "gqa/diagnose/faults/fault.hpp"

namespace gqa {
namespace {

Edit apply_dropped(Behaviour& b, std::int64_t) {
  if (!b.sink) return Edit::not_applicable;
  b.sink.reset();
  return Edit::changed;
}
Edit apply_with_value(Behaviour& b, std::int64_t) {
  if (!b.sink) return Edit::not_applicable;
  b.sink_has_value = true;
  return Edit::changed;
}
Edit apply_empty_tile(Behaviour& b, std::int64_t tile) {
  if (!b.sink) return Edit::not_applicable;
  b.overflow.sink_tile = tile;
  return Edit::changed;
}

constexpr std::array<std::int64_t, 8> tiles{1, 2, 4, 8, 16, 32, 64, 128};

constexpr std::array sink_kinds{
    FaultKind{"sink.dropped", "the sink is left out of the denominator",
              "sum exp(s) instead of sum exp(s) + exp(z)", apply_dropped},
    FaultKind{"sink.with_value", "the sink contributes a value, that of key 0",
              "exp(z) v_0 in the numerator", apply_with_value},
    FaultKind{"sink.empty_tile", "a sink meets a first tile without a visible key",
              "exp(z - (-1e5)) = inf, inf * 0 = NaN", apply_empty_tile, tiles, "tile of {} keys"},
};

}  // namespace

std::span<const FaultKind> sink_faults() {
  return sink_kinds;
}

}  // namespace gqa
