// Wrong backward passes by plain loops, and the rule that each of them follows.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "diagnose/small_problem.hpp"
#include "gqa/diagnose/cases/recording_diagnosis.hpp"

using namespace gqa;
using test::SmallProblem;
using test::SmallRules;

namespace {

// A recorded backward pass on 12 rows and 20 keys in bfloat16, and how it may be wrong.
class Backward {
 public:
  explicit Backward(std::uint64_t seed, std::int64_t kv_heads = 2)
      : problem({.q_heads = 4, .kv_heads = kv_heads, .queries = 12, .keys = 20},
                ElementType::bfloat16, seed) {
    problem.tensors.grad_output = problem.normal(problem.output_shape());
    grad = decode(*problem.tensors.grad_output).data();
    contract.causal = true;
    own = forward = problem.causal();
    const std::int64_t group = 4 / kv_heads;
    sum_head = [group](std::int64_t h) { return h / group; };
  }

  SmallProblem::Gradients gradients() const {
    return problem.backward(grad, own, forward, sum_head, factor, delta_factor, used_grad_lse);
  }

  // "grad_query: causal.missing; grad_key: ...", in binary32 tolerances a bfloat16 kernel keeps.
  std::string said(const SmallProblem::Gradients& g) {
    ProblemTensors& t = problem.tensors;
    t.output = problem.rounded(problem.output_shape(), problem.output(forward));
    t.grad_query = problem.rounded(t.query->shape, g.query);
    t.grad_key = problem.rounded(t.key->shape, g.key);
    t.grad_value = problem.rounded(t.value->shape, g.value);
    AuditOptions options;
    options.tolerance = AbsoluteRelativeTolerance{Rational(1, 50), Rational(1, 50)};
    const AttentionProblem made = make_problem(t, contract);
    const auto outputs = audit_outputs(made, t, options);
    diagnosis = diagnose_recording(t, contract, outputs, options.tolerance);
    std::vector<std::string> all;
    for (const TensorAccount& account : diagnosis.tensors) {
      std::vector<std::string> names;
      for (const Explanation& one : diagnosis.explanations) {
        if (one.tensor == account.tensor) names.push_back(one.describe());
      }
      const std::string text = fmt::format("{}", fmt::join(names, " or "));
      all.push_back(fmt::format("{}: {}", account.tensor, names.empty() ? "unexplained" : text));
    }
    return fmt::format("{}", fmt::join(all, "; "));
  }
  std::string said() { return said(gradients()); }

  SmallProblem problem;
  Contract contract;
  std::vector<double> grad;
  SmallRules own, forward;
  std::function<std::int64_t(std::int64_t)> sum_head;
  double factor = 1, delta_factor = 1;
  std::vector<double> used_grad_lse;
  Diagnosis diagnosis;
};

std::string each(const char* name) {
  return fmt::format("grad_query: {0}; grad_key: {0}; grad_value: {0}", name);
}

}  // namespace

TEST_CASE("backward: a right pass has nothing to explain") {
  Backward right(1);
  CHECK(right.said().empty());
  CHECK(right.diagnosis.status == DiagnosisStatus::none);
}

TEST_CASE("backward: the rules of the contract are told in the backward pass alone") {
  Backward corner(2);
  corner.own.visible = [](std::int64_t i, std::int64_t j) { return j <= i; };
  CHECK(corner.said() == each("causal.top_left"));

  Backward window(3);
  window.contract.window = {3, 0};
  window.forward.visible = [](std::int64_t i, std::int64_t j) { return i + 5 <= j && j <= i + 8; };
  CHECK(window.said() == each("window.ignored"));

  Backward causal(4);
  causal.own.visible = [](auto, auto) { return true; };
  // With T other than S the rule may as well be dropped there alone.
  CHECK(causal.said() == each("causal.only_square or causal.missing"));
}

TEST_CASE("backward: the scale twice, tiled groups and exchanged heads are told of their tensors") {
  Backward twice(5);
  twice.factor = 0.25;
  CHECK(twice.said() == "grad_query: gradient.scale_twice; grad_key: gradient.scale_twice");

  Backward tiled(6);
  tiled.sum_head = [](std::int64_t h) { return h % 2; };
  CHECK(tiled.said() == "grad_key: gradient.tiled_groups; grad_value: gradient.tiled_groups");

  Backward exchanged(7);
  exchanged.sum_head = [](std::int64_t h) { return 1 - h / 2; };
  CHECK(exchanged.said() ==
        "grad_key: gradient.heads_exchanged (1,0); grad_value: gradient.heads_exchanged (1,0)");
}

TEST_CASE("backward: with the right values and wrong row sums, one is sent to delta") {
  Backward missing(8);
  missing.delta_factor = 0;
  CHECK(missing.said() == "grad_query: gradient.delta_missing; grad_key: gradient.delta_missing");
  Backward other(9);
  other.delta_factor = 3;
  CHECK(other.said() == "grad_query: gradient.delta; grad_key: gradient.delta");
}

TEST_CASE("backward: a gradient of the log-sum-exp that is dropped or negated is told") {
  for (const double used : {1.0, 0.0, -1.0}) {
    CAPTURE(used);
    Backward pass(20);
    test::Random random(20);
    std::vector<double> grad_lse(4 * 12);
    for (double& x : grad_lse) x = static_cast<double>(static_cast<float>(random.normal()));
    pass.problem.tensors.grad_lse = test::tensor_of(ElementType::binary32, {1, 4, 12}, grad_lse);
    for (const double x : grad_lse) pass.used_grad_lse.push_back(used * x);
    const std::string said = pass.said();
    const char* name = used == 0 ? "gradient.lse_missing" : "gradient.lse_negated";
    CHECK(said == (used == 1 ? "" : fmt::format("grad_query: {0}; grad_key: {0}", name)));
  }
}

TEST_CASE("backward: zeros and other numbers are told to be that, and not rounding") {
  Backward wrong(10);
  SmallProblem::Gradients g = wrong.gradients();
  std::fill(g.key.begin(), g.key.end(), 0);
  CHECK(wrong.said(g) == "grad_key: content.zero");
  CHECK(wrong.diagnosis.explanations.front().sentence() == "grad_key is zero everywhere");
  test::Random random(10);
  for (double& x : g.key) x = 0.3 * random.normal();
  CHECK(wrong.said(g) == "grad_key: unexplained");
  REQUIRE(wrong.diagnosis.measurements.size() == 1);
  CHECK(wrong.diagnosis.measurements.front().find("look at delta") != std::string::npos);
}
