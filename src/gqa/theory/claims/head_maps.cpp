// Which KV head a query head reads, and what may be permuted.
#include <fmt/ranges.h>

#include <algorithm>

#include "gqa/attention/dimensions.hpp"
#include "gqa/exact/enumeration.hpp"
#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/instances.hpp"

namespace gqa {
namespace {

using namespace claim_instances;
namespace certificates = claim_certificates;

ClaimVerdict argue_g(Argument& argument, const TrainedModel* /*model*/) {
  const std::vector<Matrix> values{{{4, 0}, {0, 8}}, {{10, 2}, {-2, 6}}};
  Problem<GmpNumbers> problem =
      with_queries(2, std::vector<Matrix>(8, {{0}}), {{{0}, {0}}, {{0}, {0}}}, values);
  const auto map = resolve_head_map(problem.contract.head_map, 8, 2);
  argument.require(map == std::vector<std::int64_t>{0, 0, 0, 0, 1, 1, 1, 1}, "contiguous map: {}",
                   fmt::join(map, ", "));
  const auto contiguous = attention(problem).output;
  problem.contract.head_map.kind = HeadMapKind::interleaved;
  const auto interleaved = attention(problem).output;
  std::vector<std::int64_t> changed;
  for (std::int64_t h = 0; h < 8; ++h) {
    const Row one = row_of(contiguous, h), other = row_of(interleaved, h);
    if (one == other) continue;
    changed.push_back(h);
    const bool down = h < 4;
    argument.require(
        one == (down ? Row{2, 4} : Row{4, 4}) && other == (down ? Row{4, 4} : Row{2, 4}),
        "head {}: {} becomes {}", h, to_text(one), to_text(other));
  }
  argument.require(changed == std::vector<std::int64_t>{1, 3, 4, 6}, "changed heads: {}",
                   fmt::join(changed, ", "));
  const Row half{fraction(1, 2), fraction(1, 2)};
  argument.attach(certificates::attainable_point(values[0], {2, 4}, half));
  argument.attach(certificates::attainable_point(values[1], {4, 4}, half));
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_g{
    .id = "g",
    .title = "two-maps",
    .statement =
        "Hq = 8, Hkv = 2: the contiguous map is (0,0,0,0,1,1,1,1); with zero queries the map h mod "
        "2 changes exactly heads 1, 3, 4, 6, between (2,4) and (4,4)",
    .scope = "values (4,0), (0,8) of KV head 0 and (10,2), (-2,6) of KV head 1",
    .certificate = "exact attention under both maps; both outputs as attainable points",
    .argue = argue_g};

namespace {

ClaimVerdict argue_h(Argument& argument, const TrainedModel* /*model*/) {
  const EnumerationResult result = enumerate_cases(12, Engine::gmp);
  argument.require(result.cases == 210 && result.equal == 210, "{} of {} cases are equal",
                   result.equal, result.cases);
  argument.require(result.detected == result.map_differs && result.false_alarms == 0,
                   "{} of {} controls are told apart, {} false alarms", result.detected,
                   result.map_differs, result.false_alarms);
  argument.say(
      "a head's output is one function of its query, its keys, its values and what its row "
      "is told (mask, scale, positions); expanded, head h has copies of its group's");
  argument.attach(certificates::equational_proof(
      {{"a grouped head", "output(Grouped, h)", "attend(Q(h), K(map(h)), V(map(h)), Row(h))"},
       {"a head of its own", "output(Expanded, h)", "attend(Q(h), Kx(h), Vx(h), Row(h))"},
       {"copied keys", "Kx(h)", "K(map(h))"},
       {"copied values", "Vx(h)", "V(map(h))"}},
      {"output(Expanded, Head)", "attend(Q(Head), Kx(Head), Vx(Head), Row(Head))",
       "attend(Q(Head), K(map(Head)), Vx(Head), Row(Head))",
       "attend(Q(Head), K(map(Head)), V(map(Head)), Row(Head))", "output(Grouped, Head)"},
      {1, 2, 3, 0}));
  // r copies each, one after the other: copy t of history g is head g r + t, whose map is g, for
  // 0 <= t < r.
  argument.attach(certificates::polynomial_identity("(g*r + t) - g*r", "t"));
  argument.attach(certificates::polynomial_identity("(g*r + r - 1) - (g*r + t)", "r - 1 - t"));
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_h{
    .id = "h",
    .title = "expansion",
    .statement = "Grouped attention equals attention over consecutively expanded histories",
    .scope =
        "every grouping, mask and scale; instances Hq = 1..12, every divisor Hkv, six weight "
        "families: 210 cases",
    .certificate =
        "both have the same operands: a proof by rewriting; all cases computed in "
        "rationals, with the map h mod Hkv as control",
    .argue = argue_h};

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
  argument.attach(certificates::equational_proof(
      {{"a head", "output(Plain, h)", "attend(Q(h), K(map(h)), V(map(h)), Row(h))"},
       {"a permuted head", "output(Permuted, h)",
        "attend(Qp(h), Kp(mapp(h)), Vp(mapp(h)), Rowp(h))"},
       {"permuted queries", "Qp(h)", "Q(s(h))"},
       {"permuted rows", "Rowp(h)", "Row(s(h))"},
       {"the map follows", "mapp(h)", "pi(map(s(h)))"},
       {"permuted keys", "Kp(pi(g))", "K(g)"},
       {"permuted values", "Vp(pi(g))", "V(g)"}},
      {"output(Permuted, Head)", "attend(Qp(Head), Kp(mapp(Head)), Vp(mapp(Head)), Rowp(Head))",
       "attend(Q(s(Head)), Kp(mapp(Head)), Vp(mapp(Head)), Rowp(Head))",
       "attend(Q(s(Head)), Kp(pi(map(s(Head)))), Vp(mapp(Head)), Rowp(Head))",
       "attend(Q(s(Head)), K(map(s(Head))), Vp(mapp(Head)), Rowp(Head))",
       "attend(Q(s(Head)), K(map(s(Head))), Vp(pi(map(s(Head)))), Rowp(Head))",
       "attend(Q(s(Head)), K(map(s(Head))), V(map(s(Head))), Rowp(Head))",
       "attend(Q(s(Head)), K(map(s(Head))), V(map(s(Head))), Row(s(Head)))",
       "output(Plain, s(Head))"},
      {1, 2, 4, 5, 4, 6, 3, 0}));
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_i{
    .id = "i",
    .title = "permutation",
    .statement = "A permutation applied consistently to queries, groups and outputs is harmless",
    .scope = "every permutation; instances of four query heads on two KV heads: all 24 x 2",
    .certificate =
        "a permuted head has the operands of the head it stands for: a proof by "
        "rewriting; exact attention under every permutation",
    .argue = argue_i};

namespace {

ClaimVerdict argue_m(Argument& argument, const TrainedModel* /*model*/) {
  const auto map = resolve_head_map({}, 8, 2);
  std::vector<std::int64_t> served;
  for (std::int64_t h = 0; h < 8; ++h) {
    if (map[static_cast<std::size_t>(h)] == 1) served.push_back(h);
  }
  argument.require(served == std::vector<std::int64_t>{4, 5, 6, 7}, "KV head 1 serves {}",
                   fmt::join(served, ", "));
  // h = 4 kv + r with 0 <= r < 4: the first and the last head of KV head 1.
  argument.attach(claim_certificates::polynomial_identity("4*1 + 0", "4"));
  argument.attach(claim_certificates::polynomial_identity("4*1 + 3", "7"));
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_m{.id = "m",
                    .title = "heads-of-a-kv-head",
                    .statement = "Hq = 8, Hkv = 2: KV head 1 serves query heads 4 to 7",
                    .scope = "the contiguous map",
                    .certificate = "the head map, resolved",
                    .argue = argue_m};

}  // namespace gqa
