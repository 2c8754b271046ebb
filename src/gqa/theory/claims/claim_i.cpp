#include <algorithm>

#include "gqa/exact/enumeration.hpp"
#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/instances.hpp"

namespace gqa {
namespace {

using namespace claim_instances;

ClaimVerdict argue_i(Argument& argument, const TrainedModel* /*model*/) {
  const Problem<GmpNumbers> problem = case_problem<Rational>({4, 2, 5});
  const auto plain = attention(problem).output;
  const std::vector<std::int64_t> map{0, 0, 1, 1};
  std::vector<std::size_t> order{0, 1, 2, 3};
  int equal = 0, all = 0;
  do {
    for (const bool swapped : {false, true}) {
      Problem<GmpNumbers> other = problem;
      other.contract.head_map = {HeadMapKind::explicit_list, {}};
      std::vector<Matrix> strengths, values, expected;
      for (const std::size_t old : order) {
        const auto head = static_cast<std::int64_t>(old);
        other.contract.head_map.list.push_back(swapped ? 1 - map[old] : map[old]);
        strengths.push_back({row_of(*problem.strengths, head)});
        expected.push_back({row_of(plain, head)});
      }
      for (const std::int64_t g : {0, 1}) {
        values.push_back(to_matrix(problem.value.matrix(0, swapped ? 1 - g : g)));
      }
      other.strengths = to_tensor(strengths);
      other.value = to_tensor(values);
      equal += attention(other).output == to_tensor(expected) ? 1 : 0;
      ++all;
    }
  } while (std::ranges::next_permutation(order).found);
  argument.require(all == 48 && equal == 48, "{} of {} permutations give the permuted outputs",
                   equal, all);
  return ClaimVerdict::checked;
}

}  // namespace

const Claim claim_i{
    .id = "i",
    .title = "permutation",
    .statement = "A permutation applied consistently to queries, groups and outputs is harmless",
    .scope = "four query heads on two KV heads: all 24 x 2 permutations",
    .certificate = "exact attention under every permutation",
    .argue = argue_i};

}  // namespace gqa
