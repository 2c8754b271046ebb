// Faults of the softmax's arithmetic.
#include <array>

#include "gqa/diagnose/faults/fault.hpp"

namespace gqa {
namespace {

Edit set_form(Behaviour& b, SoftmaxForm form, std::int64_t block) {
  b.softmax = form;
  b.block = block;
  return Edit::changed;
}

Edit apply_no_maximum(Behaviour& b, std::int64_t) {
  b.overflow.exponential = true;
  return Edit::changed;
}
Edit apply_not_rescaled(Behaviour& b, std::int64_t block) {
  return set_form(b, SoftmaxForm::not_rescaled, block);
}
Edit apply_softmax_inverted(Behaviour& b, std::int64_t block) {
  return set_form(b, SoftmaxForm::rescale_inverted, block);
}
// Every row asks all others: beyond this size the search would not end.
constexpr std::int64_t largest_square = 1 << 20;

Edit apply_query_axis(Behaviour& b, std::int64_t) {
  if (b.queries() * b.keys() > largest_square) return Edit::not_applicable;
  return set_form(b, SoftmaxForm::over_queries, 0);
}
Edit apply_bfloat16_sum(Behaviour& b, std::int64_t) {
  b.running_sum = &bfloat16;
  return Edit::changed;
}
Edit apply_binary16_sum(Behaviour& b, std::int64_t) {
  b.running_sum = &binary16;
  return Edit::changed;
}
Edit apply_dot_overflow(Behaviour& b, std::int64_t) {
  b.overflow.dot_product = true;
  return Edit::changed;
}

constexpr std::array<std::int64_t, 9> blocks{1, 2, 4, 8, 16, 32, 64, 128, 256};

constexpr std::array softmax_kinds{
    FaultKind{"softmax.no_max_subtraction", "exp is taken without subtracting the row's maximum",
              "exp(s) / sum exp(s): NaN once a score passes 88.7", apply_no_maximum},
    FaultKind{"softmax.not_rescaled",
              "the online softmax does not rescale its sums when the maximum moves",
              "earlier blocks keep their old maximum's scale", apply_not_rescaled, blocks,
              "block of {} keys"},
    FaultKind{"softmax.rescale_inverted", "the online softmax rescales the wrong way",
              "earlier sums times exp(m_new - m_old)", apply_softmax_inverted, blocks,
              "block of {} keys"},
    FaultKind{"softmax.query_axis", "the softmax runs over the query rows",
              "exp(s_ij) / sum over i of exp(s_ij)", apply_query_axis},
    FaultKind{"softmax.bfloat16_sum", "the weighted values are summed in bfloat16, one by one",
              "acc = bfloat16(acc + w v)", apply_bfloat16_sum},
    FaultKind{"softmax.binary16_sum", "the weighted values are summed in binary16, one by one",
              "acc = binary16(acc + w v)", apply_binary16_sum},
    FaultKind{"softmax.dot_overflow", "q.k is summed in binary16 before it is scaled",
              "a partial sum beyond 65504 is infinite", apply_dot_overflow},
};

}  // namespace

std::span<const FaultKind> softmax_faults() {
  return softmax_kinds;
}

}  // namespace gqa
