#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/trained_rank.hpp"

namespace gqa {
namespace {

// Proved; a ball that is not finite is nowhere.
bool within(const Ball& x, const char* low, const char* high) {
  return x.is_finite() && parse_rational(low) < x.lower() && x.upper() < parse_rational(high);
}

ClaimVerdict argue_gg(Argument& argument, const TrainedModel* model) {
  if (model == nullptr || model->layers.empty()) {
    argument.say("not settled: the recordings of the trained model were not given");
    return ClaimVerdict::open;
  }
  std::size_t groups = 0, full = 0;
  bool ratios = true, ranks = true;
  for (std::size_t layer = 0; layer < model->layers.size(); ++layer) {
    const Tensor<double>* projection =
        layer < model->output_projections.size() ? &model->output_projections[layer] : nullptr;
    for (const GroupRank& group : group_ranks(model->layers[layer], projection)) {
      ++groups;
      if (group.certified() && group.certified_rank == 16 && group.recorded_rank == 16) ++full;
      ratios = ratios && within(group.participation_ratio, "2.9", "6.7");
      ranks = ranks && within(group.stable_rank, "1.8", "3.95");
      argument.say("layer {}, KV head {}: rank {}, participation ratio {}, stable rank {}", layer,
                   group.kv_head, group.certified_rank, to_text(group.participation_ratio, 10),
                   to_text(group.stable_rank, 10));
    }
  }
  argument.require(model->layers.size() == 5 && groups == 20 && full == 20,
                   "{} of {} groups in {} layers have certified rank 16", full, groups,
                   model->layers.size());
  argument.require(ratios, "all participation ratios lie between 2.9 and 6.7");
  argument.require(ranks, "all stable ranks lie between 1.8 and 3.95");
  return ClaimVerdict::checked;
}

}  // namespace

const Claim claim_gg{
    .id = "gg",
    .title = "trained-heads",
    .statement =
        "On the recorded trained model every group output has full rank 16 = G d_v, a "
        "participation ratio between 2.9 and 6.7 and a stable rank between 1.8 and 3.95",
    .scope =
        "stories260K: 8 query heads on 4 KV heads, 5 layers, 96 positions, heads times output "
        "projection",
    .certificate = "factorisations in ball arithmetic of C^T C from the recorded operands",
    .argue = argue_gg};

}  // namespace gqa
