// Faults of the causal rule and of where its diagonal lies.
#include <array>

#include "gqa/diagnose/faults/fault.hpp"

namespace gqa {
namespace {

// Positions act through the causal rule, the window and ALiBi; without them nothing does.
bool positions_matter(const Behaviour& b) {
  return b.contract.causal || !b.contract.window.is_unbounded() || b.slopes;
}

Edit align(Behaviour& b, CausalAlignment alignment) {
  if (!positions_matter(b) || b.contract.causal_alignment == alignment) {
    return Edit::not_applicable;
  }
  b.contract.causal_alignment = alignment;
  return Edit::changed;
}

Edit apply_top_left(Behaviour& b, std::int64_t) {
  return align(b, CausalAlignment::top_left);
}
Edit apply_bottom_right(Behaviour& b, std::int64_t) {
  return align(b, CausalAlignment::bottom_right);
}
Edit apply_ignores_past(Behaviour& b, std::int64_t) {
  if (!positions_matter(b) || b.past() == 0 ||
      b.contract.causal_alignment == CausalAlignment::top_left) {
    return Edit::not_applicable;
  }
  b.offset_without_past = true;
  return Edit::changed;
}
Edit apply_clamped(Behaviour& b, std::int64_t) {
  if (!positions_matter(b) || b.contract.causal_alignment == CausalAlignment::top_left) {
    return Edit::not_applicable;
  }
  b.clamp_offset = true;
  return Edit::changed;
}
Edit apply_only_square(Behaviour& b, std::int64_t) {
  if (!b.contract.causal) return Edit::not_applicable;
  b.causal_only_square = true;
  return b.queries() == b.keys() ? Edit::same : Edit::changed;
}
Edit apply_missing(Behaviour& b, std::int64_t) {
  if (!b.contract.causal) return Edit::not_applicable;
  b.contract.causal = false;
  return Edit::changed;
}
Edit apply_undeclared(Behaviour& b, std::int64_t) {
  if (b.contract.causal) return Edit::not_applicable;
  b.contract.causal = true;
  return Edit::changed;
}
Edit apply_row_over_group(Behaviour& b, std::int64_t) {
  if (!b.contract.causal) return Edit::not_applicable;
  b.causal_row_divisor = b.group();
  return b.causal_row_divisor == 1 ? Edit::same : Edit::changed;
}

constexpr std::array causal_kinds{
    FaultKind{"causal.top_left", "the causal diagonal starts at the top left",
              "j <= i instead of j <= i + offset", apply_top_left},
    FaultKind{"causal.bottom_right", "the causal diagonal ends at the bottom right",
              "j <= i + (S - T) instead of the declared diagonal", apply_bottom_right},
    FaultKind{"causal.ignores_past", "query positions do not count the past keys",
              "j <= i + offset - P", apply_ignores_past},
    FaultKind{"causal.clamped", "with more queries than keys the diagonal moves to the top left",
              "j <= i + max(0, offset)", apply_clamped},
    FaultKind{"causal.only_square", "the causal rule is dropped where T differs from S",
              "causal only if T = S", apply_only_square},
    FaultKind{"causal.missing", "the causal rule is not applied", "all j", apply_missing},
    FaultKind{"causal.undeclared", "the causal rule is applied though it was not asked for",
              "j <= i + offset", apply_undeclared},
    FaultKind{"causal.row_over_group", "the row index is divided by the group size",
              "j <= floor(i / G) + offset", apply_row_over_group},
};

}  // namespace

std::span<const FaultKind> causal_faults() {
  return causal_kinds;
}

}  // namespace gqa
