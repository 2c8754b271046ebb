// Faults of split histories that are merged by their log-sum-exp.
#include <array>

#include "gqa/diagnose/faults/fault.hpp"

namespace gqa {
namespace {

Edit set_merge(Behaviour& b, SoftmaxForm form, std::int64_t shard) {
  b.softmax = form;
  b.block = shard;
  return Edit::changed;
}

Edit apply_base(Behaviour& b, std::int64_t shard) {
  return set_merge(b, SoftmaxForm::base_mixed_merge, shard);
}
Edit apply_unweighted(Behaviour& b, std::int64_t shard) {
  return set_merge(b, SoftmaxForm::unweighted_merge, shard);
}
Edit apply_partly_split(Behaviour& b, std::int64_t) {
  const std::int64_t group = b.group();
  if (group < 2) return Edit::not_applicable;
  b.first_half_only.clear();
  for (std::int64_t h = 0; h < b.query_heads(); ++h) {
    b.first_half_only.push_back(h % group % 2 == 1 ? 1 : 0);
  }
  return Edit::changed;
}

constexpr std::array<std::int64_t, 9> shards{1, 2, 4, 8, 16, 32, 64, 128, 256};

constexpr std::array merge_kinds{
    FaultKind{"merge.lse_base", "a base-2 log-sum-exp is merged as a natural one",
              "weights exp(log2 of the sum) instead of the sum", apply_base, shards,
              "shards of {} keys"},
    FaultKind{"merge.unweighted", "partial outputs are averaged without their weights",
              "mean over shards", apply_unweighted, shards, "shards of {} keys"},
    FaultKind{"merge.group_partly_split",
              "every second head of a group is merged as if it were not split",
              "odd heads of a group keep the first half of the keys", apply_partly_split},
};

}  // namespace

std::span<const FaultKind> merge_faults() {
  return merge_kinds;
}

}  // namespace gqa
