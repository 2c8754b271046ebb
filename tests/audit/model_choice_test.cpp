#include "gqa/audit/model_choice.hpp"

#include <doctest/doctest.h>

#include "audit/rounded_kernels.hpp"
#include "gqa/error.hpp"
#include "gqa/report/audit_report.hpp"
#include "support/errors.hpp"

using namespace gqa;
using test::KernelFormats;
using test::RoundedKernel;
using test::RoundedOperands;
using test::Way;

namespace {

using Models = std::vector<const PrecisionModel*>;

Models candidates(std::vector<ElementType> types) {
  return candidate_models(types);
}

/// Positive values, so that 16-bit sums show; every format below holds the operands.
RoundedOperands operands(std::int64_t keys) {
  test::Random random(11);
  RoundedOperands o;
  o.queries = 2;
  o.keys = keys;
  o.key_size = 32;
  o.value_size = 4;
  const auto fill = [&random](std::vector<double>& to, std::int64_t count) {
    for (std::int64_t k = 0; k < count; ++k) {
      to.push_back(test::rounded(bfloat16, random.uniform(0, 1)));
    }
  };
  fill(o.query, o.queries * o.key_size);
  fill(o.key, keys * o.key_size);
  fill(o.value, keys * o.value_size);
  for (double& v : o.value) v = test::rounded(float8_e5m2, v);
  return o;
}

ModelChoice choose(const KernelFormats& kernel, bool accept = false, std::int64_t keys = 200) {
  const RoundedOperands o = operands(keys);
  return audit_with_candidates(to_problem(o, kernel, RoundedKernel(o, kernel, Way::one_pass).run()),
                               {}, {}, accept);
}

AuditCase case_of(ModelChoice choice) {
  AuditCase entry;
  entry.path = "here";
  entry.verdict = choice.outputs.front().result.verdict;
  entry.tolerance = std::move(choice.tolerance);
  entry.result = std::move(choice.outputs.front().result);
  return entry;
}

}  // namespace

TEST_CASE("model choice: every type's presets, from tight to loose") {
  using enum ElementType;
  CHECK(candidates({binary64, binary64, binary64, binary64}) == Models{&f64_model});
  CHECK(candidates({binary32, binary32, binary32, binary32}) == Models{&f32_model});
  CHECK(candidates({binary16, binary16, binary16, binary16}) == Models{&f16_f32_model, &f16_model});
  CHECK(candidates({bfloat16, bfloat16, bfloat16, bfloat16}) ==
        Models{&bf16_f32_model, &bf16_model});
}

TEST_CASE("model choice: of several types the presets of all, float8 adding none") {
  using enum ElementType;
  CHECK(candidates({binary16, binary16, binary16, binary32}) ==
        Models{&f32_model, &f16_f32_model, &f16_model});
  CHECK(candidates({binary32, bfloat16, bfloat16, binary64}) ==
        Models{&f64_model, &f32_model, &bf16_f32_model, &bf16_model});
  CHECK(candidates({float8_e4m3fn, float8_e5m2, float8_e5m2, bfloat16}) ==
        Models{&bf16_f32_model, &bf16_model});
  CHECK(candidates({float8_e5m2, float8_e5m2, float8_e5m2, float8_e5m2}) == Models{&f32_model});
  CHECK(candidates({}) == Models{&f32_model});
}

TEST_CASE("model choice: the tightest model that explains the output is the one reported") {
  for (const KernelFormats& kernel : test::kernels_of_all_models()) {
    CAPTURE(kernel.model->name);
    const ModelChoice choice = choose(kernel);
    CHECK(choice.outputs.front().result.verdict == Verdict::pass);
    CHECK(choice.tolerance.model == kernel.model);
    CHECK(choice.tolerance.tried.back() == kernel.model);
    const bool second = kernel.model == &f16_model || kernel.model == &bf16_model;
    CHECK(choice.tolerance.tried.size() == (second ? 2 : 1));
  }
}

TEST_CASE("model choice: what no model explains fails under the loosest, all of them tried") {
  KernelFormats kernel = test::kernels_of_all_models()[2];
  const RoundedOperands o = operands(3);
  std::vector<double> output = RoundedKernel(o, kernel, Way::one_pass).run();
  output[1] += 0.5;
  const ModelChoice choice = audit_with_candidates(to_problem(o, kernel, output), {}, {});
  CHECK(choice.outputs.front().result.verdict == Verdict::fail);
  CHECK(choice.outputs.front().result.tally.violations == 1);
  CHECK(choice.tolerance.model == &f16_model);
  CHECK(choice.tolerance.tried == Models{&f16_f32_model, &f16_model});
}

TEST_CASE("model choice: NaN is explained by no model") {
  for (const KernelFormats& kernel : test::kernels_of_all_models()) {
    const RoundedOperands o = operands(3);
    std::vector<double> output = RoundedKernel(o, kernel, Way::one_pass).run();
    output.back() = std::numeric_limits<double>::quiet_NaN();
    const ModelChoice choice = audit_with_candidates(to_problem(o, kernel, output), {}, {}, true);
    CHECK(choice.outputs.front().result.verdict == Verdict::fail);
    CHECK(choice.outputs.front().result.strength == FailureStrength::proved);
  }
}

TEST_CASE("model choice: accepting the worst case keeps to the tightest model that allows it") {
  const KernelFormats kernel = test::kernels_of_all_models()[4];
  CHECK(choose(kernel, false, 40).tolerance.model == &f16_model);
  const ModelChoice accepted = choose(kernel, true, 40);
  CHECK(accepted.tolerance.accept_worst_case);
  CHECK(accepted.outputs.front().result.verdict == Verdict::pass);
  CHECK(accepted.tolerance.tried.front() == &f16_f32_model);
}

TEST_CASE("model choice: without an output there is nothing to audit") {
  const KernelFormats kernel = test::kernels_of_all_models()[1];
  const RoundedOperands o = operands(2);
  AttentionProblem problem = to_problem(o, kernel, RoundedKernel(o, kernel, Way::tiles).run());
  problem.output.reset();
  CHECK(test::refusal_of([&] { audit_with_candidates(problem, {}, {}); }) ==
        "contract.missing_tensor at output");
}

TEST_CASE("model choice: reports name the model that explains a pass, and what was tried") {
  const auto kernels = test::kernels_of_all_models();
  const std::vector<AuditCase> loose{case_of(choose(kernels[4]))};
  const auto tolerance = audit_json(loose)["cases"][0]["tolerance"];
  CHECK(tolerance["kind"] == "model");
  CHECK(tolerance["model"] == "f16");
  CHECK(tolerance["tried"] == nlohmann::ordered_json{"f16-f32", "f16"});
  CHECK(audit_text(loose).find(
            "finding: the rounding of f16 explains the output, that of f16-f32 does not") !=
        std::string::npos);

  const std::vector<AuditCase> tight{case_of(choose(kernels[2]))};
  CHECK(audit_json(tight)["cases"][0]["tolerance"]["tried"] ==
        nlohmann::ordered_json::array({"f16-f32"}));
  CHECK(audit_text(tight).find("finding") == std::string::npos);

  AuditCase named = case_of(choose(kernels[2]));
  named.tolerance = ModelTolerance{&f16_model};
  CHECK_FALSE(audit_json({named})["cases"][0]["tolerance"].contains("tried"));
}
