#include "gqa/theory/claims/rank_steps.hpp"

#include "gqa/theory/modular_matrix.hpp"
#include "gqa/theory/rank_witness.hpp"

namespace gqa::claim_instances {
namespace {

// The kinds of patterns that the claims speak of.
RankConfiguration variant(RankConfiguration c, int kind) {
  c.causal = kind == 1;
  if (kind == 2) c.window = 3;
  if (kind == 3) {
    c.softmax_reachable = true;
    c.key_size = 2;
  }
  return c;
}

}  // namespace

RankConfiguration rank_group(std::int64_t group_size, std::int64_t positions,
                             std::int64_t value_size) {
  RankConfiguration c;
  c.group_size = group_size;
  c.positions = positions;
  c.value_size = c.key_size = value_size;
  return c;
}

void require_rank(Argument& argument, const RankConfiguration& configuration,
                  const std::string& quantity, std::int64_t expected) {
  argument.say("{}:", describe(configuration));
  bool found = false;
  for (const GenericRank& rank : generic_ranks(configuration).ranks) {
    if (rank.quantity != quantity) continue;
    found = true;
    argument.require(rank.proved() && rank.upper == expected,
                     "{}: a witness of rank {} modulo {}, at most {} = {}", quantity, rank.lower,
                     rank_prime, rank.bound, rank.upper);
  }
  argument.require(found, "{} was computed", quantity);
}

void require_all_proved(Argument& argument, const std::string& prefix) {
  int proved = 0, all = 0;
  for (std::int64_t g = 1; g <= 3; ++g) {
    for (std::int64_t d = 1; d <= 3; ++d) {
      for (std::int64_t n = 1; n <= 10; ++n) {
        for (int kind = 0; kind < 4; ++kind) {
          const RankReport report = generic_ranks(variant(rank_group(g, n, d), kind));
          for (const GenericRank& rank : report.ranks) {
            if (!rank.quantity.starts_with(prefix)) continue;
            ++all;
            proved += rank.proved() ? 1 : 0;
          }
        }
      }
    }
  }
  argument.require(all > 0 && proved == all,
                   "{} of {} ranks proved for G, d_v <= 3 and N <= 10: plain, causal, windowed and "
                   "softmax-reachable patterns",
                   proved, all);
}

Matrix exact_stack(const RankConfiguration& configuration, std::uint64_t seed) {
  return stacked_outputs(RankWitness(configuration, seed).problem());
}

}  // namespace gqa::claim_instances
