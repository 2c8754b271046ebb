// Gradients, shared weights and a trained model.
#include "gqa/attention/gradient.hpp"
#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/instances.hpp"
#include "gqa/theory/enclosed_rank.hpp"
#include "gqa/theory/trained_rank.hpp"

namespace gqa {
namespace {

using namespace claim_instances;

std::vector<Matrix> random_heads(std::mt19937_64& engine, std::int64_t heads, std::size_t rows) {
  std::vector<Matrix> result;
  for (std::int64_t h = 0; h < heads; ++h) result.push_back(random_integers(engine, rows, 2));
  return result;
}

Problem<GmpNumbers> random_problem(std::mt19937_64& engine, std::int64_t heads, std::int64_t kv) {
  const std::vector<Matrix> queries = random_heads(engine, heads, 3);
  const std::vector<Matrix> keys = random_heads(engine, kv, 3);
  return with_queries(3, queries, keys, random_heads(engine, kv, 3));
}

ClaimVerdict argue_dd(Argument& argument, const TrainedModel* /*model*/) {
  std::mt19937_64 engine(1);
  int equal = 0, all = 0;
  for (std::int64_t heads = 1; heads <= 6; ++heads) {
    for (std::int64_t kv = 1; kv <= heads; ++kv) {
      if (heads % kv != 0) continue;
      for (const bool causal : {false, true}) {
        Problem<GmpNumbers> problem = random_problem(engine, heads, kv);
        problem.contract.causal = causal;
        const auto map = resolve_head_map({}, heads, kv);
        Problem<GmpNumbers> wide = problem;
        wide.key = expand_heads(problem.key, map);
        wide.value = expand_heads(problem.value, map);
        const Tensor<Rational> grad_output = to_tensor(random_heads(engine, heads, 3));
        const auto grouped = attention_gradients(problem, grad_output);
        const auto expanded = attention_gradients(wide, grad_output);
        const bool same = grouped.query == expanded.query &&
                          grouped.key == sum_over_groups(expanded.key, map, kv) &&
                          grouped.value == sum_over_groups(expanded.value, map, kv);
        equal += same ? 1 : 0;
        if (++all == 7) {
          argument.say("for instance dK of the first key: {}", gqa::to_text(grouped.key.data()[0]));
        }
      }
    }
  }
  argument.require(all == 28 && equal == all,
                   "{} of {} exact problems: dQ equal, dK and dV the sums", equal, all);
  argument.say(
      "the loss is a sum over query heads, and a shared key or value is one variable of all of its "
      "terms: the derivative of the sum is the sum of derivatives, each that of one head alone");
  // Values enter linearly: v moved by e under two heads, with weights w, x and output gradients g,
  // h.
  argument.attach(claim_certificates::polynomial_identity(
      "g*(w*(v + e) + r) + h*(x*(v + e) + s) - (g*(w*v + r) + h*(x*v + s))", "(g*w + h*x)*e"));
  // One head's o = (a v + N) / (a + A) with a = exp(q k): the numerator of do/dk by the quotient
  // rule, da = q a, which is the one that the gradients above sum.
  argument.attach(
      claim_certificates::polynomial_identity("q*a*v*(a + A) - (a*v + N)*q*a", "q*a*(v*A - N)"));
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_dd{
    .id = "dd",
    .title = "shared-gradients",
    .statement = "dK and dV of a shared head are the sums of its query heads' gradients",
    .scope =
        "every problem; instances Hq = 1..6, every divisor Hkv, three queries, causal and not: 28 "
        "exact problems",
    .certificate =
        "the chain rule; exact gradients (dK in logarithms) of the grouped layer and of the "
        "expanded one, summed",
    .argue = argue_dd};

namespace {

using namespace claim_instances;

std::vector<Matrix> weights(std::mt19937_64& engine, std::int64_t heads) {
  std::vector<Matrix> result;
  for (std::int64_t h = 0; h < heads; ++h) result.push_back(random_integers(engine, 4, 2));
  return result;
}

// Queries are stated scaled, in units of ln 2.
Tensor<Rational> layer(const Matrix& input, const std::vector<Matrix>& wq,
                       const std::vector<Matrix>& wk, const std::vector<Matrix>& wv) {
  const auto project = [&input](const std::vector<Matrix>& all) {
    std::vector<Matrix> heads;
    for (const Matrix& w : all) heads.push_back(product(input, w));
    return heads;
  };
  return attention(with_queries(2, project(wq), project(wk), project(wv))).output;
}

nlohmann::ordered_json weights_json(const std::vector<Matrix>& query,
                                    const std::vector<Matrix>& key,
                                    const std::vector<Matrix>& value) {
  return {{"query", exact_json(query)}, {"key", exact_json(key)}, {"value", exact_json(value)}};
}

ClaimVerdict argue_ee(Argument& argument, const TrainedModel* /*model*/) {
  std::mt19937_64 engine(1);
  int equal = 0, different = 0, all = 0;
  for (const std::int64_t heads : {2, 4, 6}) {
    for (std::int64_t kv = 1; kv < heads; ++kv) {
      if (heads % kv != 0) continue;
      const Matrix input = random_integers(engine, 3, 4);
      const std::vector<Matrix> wq = weights(engine, heads), wk = weights(engine, kv),
                                wv = weights(engine, kv);
      const auto grouped = layer(input, wq, wk, wv);
      const auto map = resolve_head_map({}, heads, kv);
      std::vector<Matrix> wide_k, wide_v;
      for (const std::int64_t g : map) {
        wide_k.push_back(wk[static_cast<std::size_t>(g)]);
        wide_v.push_back(wv[static_cast<std::size_t>(g)]);
      }
      ++all;
      equal += layer(input, wq, wide_k, wide_v) == grouped ? 1 : 0;
      const std::vector<Matrix> other_k = weights(engine, heads), other_v = weights(engine, heads);
      const auto other = layer(input, wq, other_k, other_v);
      different += other != grouped;
      if (all > 1) continue;
      const auto flat = [](const Tensor<Rational>& t) { return exact_json(t.data()); };
      nlohmann::ordered_json json = claim_certificates::counterexample("layer_of_other_weights");
      json["input"] = exact_json(input);
      json["weights"] = weights_json(wq, wk, wv);
      json["other_weights"] = weights_json(wq, other_k, other_v);
      json["left"] = flat(grouped);
      json["right"] = flat(other);
      argument.attach(json);
    }
  }
  argument.require(all == 6 && equal == all,
                   "{} of {} layers with expanded weights equal the grouped "
                   "one",
                   equal, all);
  argument.require(different == all, "{} of {} layers with independent weights differ from it",
                   different, all);
  argument.say(
      "the outputs of both layers are real-analytic functions of all weights; their "
      "difference is not zero at one point, so it is zero on a set of measure zero at most: "
      "weights drawn independently from a density differ with probability 1");
  argument.attach(claim_certificates::equational_proof(
      {{"a grouped head", "output(Grouped, h)",
        "attend(times(X, WQ(h)), times(X, WK(map(h))), times(X, WV(map(h))))"},
       {"a head of its own", "output(Expanded, h)",
        "attend(times(X, WQ(h)), times(X, WKx(h)), times(X, WVx(h)))"},
       {"expanded key weights", "WKx(h)", "WK(map(h))"},
       {"expanded value weights", "WVx(h)", "WV(map(h))"}},
      {"output(Expanded, Head)",
       "attend(times(X, WQ(Head)), times(X, WKx(Head)), times(X, WVx(Head)))",
       "attend(times(X, WQ(Head)), times(X, WK(map(Head))), times(X, WVx(Head)))",
       "attend(times(X, WQ(Head)), times(X, WK(map(Head))), times(X, WV(map(Head))))",
       "output(Grouped, Head)"},
      {1, 2, 3, 0}));
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_ee{.id = "ee",
                     .title = "expanded-weights",
                     .statement =
                         "MHA with deliberately expanded shared weights equals GQA; independent "
                         "initialisation almost surely does not",
                     .scope =
                         "every layer, and independent weights with a density; instances Hq = "
                         "2, 4, 6, every divisor Hkv < Hq",
                     .certificate =
                         "both have the same operands: a proof by rewriting; two layers of other "
                         "weights whose outputs differ: analytic, so almost everywhere",
                     .argue = argue_ee};

namespace {

using claim_instances::fraction;

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
      if (projection != nullptr) {
        argument.attach(enclosed_rank_certificate(
            model->layers[layer], *projection, group.kv_head,
            {fraction(29, 10), fraction(67, 10), fraction(18, 10), fraction(395, 100)}));
      }
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
  return ClaimVerdict::proved;
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
    .certificate =
        "factorisations in ball arithmetic of C^T C from the recorded operands; "
        "enclosures by rational arithmetic of every group, with an approximate inverse",
    .argue = argue_gg,
    .needs_trained_model = true};

}  // namespace gqa
