// Faults of ALiBi.
#include <array>

#include "gqa/diagnose/faults/fault.hpp"

namespace gqa {
namespace {

Ball power_of_two_root(double exponent) {
  return exp(Ball(exponent) * log(Ball(2)));
}

Edit apply_exponent(Behaviour& b, std::int64_t) {
  if (!b.slopes) return Edit::not_applicable;
  const PrecisionScope precision(128);
  const Ball factor = exp(Ball(8) / Ball(static_cast<double>(b.query_heads())) * log(Ball(2)));
  for (Ball& slope : *b.slopes) slope *= factor;
  return Edit::changed;
}

bool is_power_of_two(std::int64_t n) {
  return (n & (n - 1)) == 0;
}

Edit apply_geometric(Behaviour& b, std::int64_t) {
  const std::int64_t heads = b.query_heads();
  if (!b.slopes || is_power_of_two(heads)) return Edit::not_applicable;
  const PrecisionScope precision(128);
  for (std::size_t k = 0; k < b.slopes->size(); ++k) {
    const auto head = static_cast<double>(static_cast<std::int64_t>(k) % heads);
    (*b.slopes)[k] = power_of_two_root(-8 * (head + 1) / static_cast<double>(heads));
  }
  return Edit::changed;
}

Edit apply_alibi_missing(Behaviour& b, std::int64_t) {
  if (!b.slopes) return Edit::not_applicable;
  b.slopes.reset();
  return Edit::changed;
}

constexpr std::array bias_kinds{
    FaultKind{"bias.alibi_missing", "ALiBi is not applied", "s instead of s - slope |p - j|",
              apply_alibi_missing},
    FaultKind{"bias.alibi_exponent", "the ALiBi slopes' exponent is off by one head",
              "2^(-8 h / n) instead of 2^(-8 (h + 1) / n)", apply_exponent},
    FaultKind{"bias.alibi_power_of_two",
              "the ALiBi slopes of a head count that is no power of two are taken geometric",
              "2^(-8 (h + 1) / n) for every n", apply_geometric},
};

}  // namespace

std::span<const FaultKind> bias_faults() {
  return bias_kinds;
}

}  // namespace gqa
