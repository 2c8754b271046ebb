// Faults of explicit masks, of hidden slots and of rows without a key.
#include <array>

#include "gqa/diagnose/faults/fault.hpp"

namespace gqa {
namespace {

Edit apply_inverted(Behaviour& b, std::int64_t) {
  // A float mask says with its values what it hides; only a boolean one has a polarity.
  if (!b.mask || b.bias) return Edit::not_applicable;
  for (char& flag : b.mask->data()) flag = flag == 0 ? 1 : 0;
  return Edit::changed;
}
Edit apply_added_as_bias(Behaviour& b, std::int64_t) {
  if (!b.mask || b.bias) return Edit::not_applicable;
  b.mask_use = MaskUse::added_as_bias;
  return Edit::changed;
}
Edit apply_zero_fill(Behaviour& b, std::int64_t) {
  if (!b.mask) return Edit::not_applicable;
  b.mask_use = MaskUse::zero_fill;
  return Edit::changed;
}
Edit apply_ignored(Behaviour& b, std::int64_t) {
  if (!b.mask && !b.bias) return Edit::not_applicable;
  b.mask.reset();
  b.bias.reset();
  return Edit::changed;
}

bool has_head_axis(const Shape& shape, std::int64_t heads) {
  return shape.size() >= 3 && shape[shape.size() - 3] == heads && heads > 1;
}

Edit apply_kv_head_indexed(Behaviour& b, std::int64_t) {
  const Shape* shape = b.mask ? &b.mask->shape() : b.bias ? &b.bias->shape() : nullptr;
  if (shape == nullptr || !has_head_axis(*shape, b.query_heads())) return Edit::not_applicable;
  const std::int64_t group = b.group();
  for (std::int64_t& head : b.mask_head) head /= group;
  return group == 1 ? Edit::same : Edit::changed;
}

Edit set_empty(Behaviour& b, EmptyOutcome outcome) {
  if (b.empty == outcome || b.empty == EmptyOutcome::anything) return Edit::not_applicable;
  b.empty = outcome;
  return Edit::changed;
}
Edit apply_empty_nan(Behaviour& b, std::int64_t) {
  return set_empty(b, EmptyOutcome::nan);
}
Edit apply_empty_mean(Behaviour& b, std::int64_t) {
  return set_empty(b, EmptyOutcome::mean_of_all);
}
Edit apply_saturated(Behaviour& b, std::int64_t) {
  return set_empty(b, EmptyOutcome::mean_of_once_hidden);
}
Edit apply_value_leak(Behaviour& b, std::int64_t) {
  b.overflow.hidden_value = true;
  return Edit::changed;
}
Edit apply_key_leak(Behaviour& b, std::int64_t) {
  b.overflow.hidden_key = true;
  return Edit::changed;
}

constexpr std::array mask_kinds{
    FaultKind{"mask.inverted", "the boolean mask is read the other way round",
              "keep where the mask says drop", apply_inverted},
    FaultKind{"mask.added_as_bias", "the boolean mask is added to the scores as 1 and 0",
              "s + mask, nothing hidden", apply_added_as_bias},
    FaultKind{"mask.zero_fill", "masked scores are set to zero instead of minus infinity",
              "s = 0 where the mask says drop", apply_zero_fill},
    FaultKind{"mask.ignored", "the explicit mask is not applied", "all keys that the rest allows",
              apply_ignored},
    FaultKind{"mask.kv_head_indexed", "a mask with a head axis is indexed by the KV head",
              "mask[floor(h / G)] instead of mask[h]", apply_kv_head_indexed},
    FaultKind{"mask.saturated_planes",
              "two finite fills add up to minus infinity where two rules hide a key",
              "an empty row: the mean of the keys hidden once, NaN if there are none",
              apply_saturated},
    FaultKind{"mask.empty_row_nan", "a row without a visible key is NaN", "0 / 0", apply_empty_nan},
    FaultKind{"mask.empty_row_mean", "a row without a visible key is the mean of all values",
              "softmax over equal finite fills", apply_empty_mean},
    FaultKind{"mask.value_leak", "values in hidden slots are multiplied by zero, not left out",
              "0 * NaN = NaN", apply_value_leak},
    FaultKind{"mask.key_leak", "scores of hidden slots are formed and minus infinity is added",
              "NaN + (-inf) = NaN", apply_key_leak},
};

}  // namespace

std::span<const FaultKind> mask_faults() {
  return mask_kinds;
}

}  // namespace gqa
