#include "gqa/audit/model_choice.hpp"

#include <doctest/doctest.h>

#include "audit/rounded_kernels.hpp"
#include "gqa/audit/audit.hpp"
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
RoundedOperands choice_operands(std::int64_t keys) {
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

OutputAudit choose(const KernelFormats& kernel, bool accept = false, std::int64_t keys = 200) {
  const RoundedOperands o = choice_operands(keys);
  return audit_with_candidates(to_problem(o, kernel, RoundedKernel(o, kernel, Way::one_pass).run()),
                               {}, {}, accept)
      .front();
}

const ModelTolerance& model_of(const OutputAudit& output) {
  return std::get<ModelTolerance>(output.tolerance);
}

AuditCase case_of(OutputAudit output) {
  AuditCase entry;
  entry.path = "here";
  entry.verdict = output.result.verdict;
  entry.tolerance = output.tolerance;
  entry.result = output.result;
  entry.outputs = {std::move(output)};
  return entry;
}

}  // namespace

TEST_CASE("model choice: every type's presets, from tight to loose, none with sums in 16 bits") {
  using enum ElementType;
  CHECK(candidates({binary64, binary64, binary64, binary64}) == Models{&f64_model});
  CHECK(candidates({binary32, binary32, binary32, binary32}) == Models{&f32_model});
  CHECK(candidates({binary16, binary16, binary16, binary16}) ==
        Models{&f16_f32_model, &f16_stored_model});
  CHECK(candidates({bfloat16, bfloat16, bfloat16, bfloat16}) ==
        Models{&bf16_f32_model, &bf16_stored_model});
}

TEST_CASE("model choice: of several types the presets of all") {
  using enum ElementType;
  CHECK(candidates({binary16, binary16, binary16, binary32}) ==
        Models{&f32_model, &f16_f32_model, &f16_stored_model});
  CHECK(candidates({binary32, bfloat16, bfloat16, binary64}) ==
        Models{&f64_model, &f32_model, &bf16_f32_model, &bf16_stored_model});
  CHECK(candidates({float8_e4m3fn, float8_e5m2, float8_e5m2, bfloat16}) ==
        Models{&f32_model, &bf16_f32_model, &bf16_stored_model, &fp8_weights_model});
  CHECK(candidates({float8_e5m2, float8_e5m2, float8_e5m2, float8_e5m2}) ==
        Models{&f32_model, &bf16_f32_model, &fp8_weights_model});
  CHECK(candidates({}) == Models{&f32_model});
}

TEST_CASE("model choice: what nobody declared is no candidate") {
  using enum ElementType;
  const std::vector<ElementType> single(4, binary32);
  CHECK(undeclared_models(single) ==
        Models{&bf16x3_model, &tf32_model, &f16_products_model, &bf16_products_model});
  const std::vector<ElementType> half(4, bfloat16);
  CHECK(undeclared_models(half) == Models{&bf16_model, &fp8_weights_model});
}

TEST_CASE("model choice: the tightest model that explains the output is the one reported") {
  for (const KernelFormats& kernel : test::kernels_of_all_models()) {
    const OutputAudit output = choose(kernel);
    CAPTURE(kernel.model->name);
    if (kernel.model == &f16_model || kernel.model == &bf16_model) {
      // Sums in 16 bits are not assumed: 200 of them are no rounding of a wider sum.
      CHECK(output.result.verdict == Verdict::fail);
      CHECK(output.result.strength == FailureStrength::statistical);
      continue;
    }
    CHECK(output.result.verdict == Verdict::pass);
    CHECK(model_of(output).model == kernel.model);
    CHECK(model_of(output).tried == Models{kernel.model});
    CHECK(output.explained_by == nullptr);
  }
}

TEST_CASE("model choice: a short sum in binary16 fails, and the model that explains it is named") {
  const OutputAudit output = choose(test::kernels_of_all_models()[4], false, 60);
  CHECK(output.result.verdict == Verdict::fail);
  CHECK(output.explained_by == &f16_model);
  const std::string text = audit_text({case_of(output)});
  CAPTURE(text);
  CHECK(text.find("finding: the rounding of f16 would explain output") != std::string::npos);
}

TEST_CASE("model choice: what no model explains fails under the tightest, all of them tried") {
  KernelFormats kernel = test::kernels_of_all_models()[2];
  const RoundedOperands o = choice_operands(3);
  std::vector<double> output = RoundedKernel(o, kernel, Way::one_pass).run();
  output[1] += 0.5;
  const OutputAudit choice = audit_with_candidates(to_problem(o, kernel, output), {}, {}).front();
  CHECK(choice.result.verdict == Verdict::fail);
  CHECK(choice.result.tally.violations == 1);
  CHECK(model_of(choice).model == &f16_f32_model);
  CHECK(model_of(choice).tried == Models{&f16_f32_model, &f16_stored_model});
  CHECK(choice.explained_by == nullptr);
}

TEST_CASE("model choice: of a failure every violation is counted, as under the first model alone") {
  const KernelFormats kernel = test::kernels_of_all_models()[2];
  const RoundedOperands o = choice_operands(300);
  std::vector<double> output = RoundedKernel(o, kernel, Way::one_pass).run();
  for (double& x : output) x = test::rounded(binary16, x + 0.25);
  const AttentionProblem problem = to_problem(o, kernel, output);
  const OutputAudit choice = audit_with_candidates(problem, {}, {}).front();
  AuditOptions options;
  options.tolerance = ModelTolerance{.model = &f16_f32_model};
  const AuditResult alone = audit(problem, options);
  CHECK(choice.result.tally.violations == static_cast<std::int64_t>(output.size()));
  CHECK(choice.result.tally.violations == alone.tally.violations);
  CHECK(choice.result.tally.worst.front().index == alone.tally.worst.front().index);
  CHECK(choice.result.where == alone.where);
}

TEST_CASE("model choice: a pass under a later model is that model's own audit") {
  const KernelFormats kernel = test::kernels_of_all_models()[2];
  const RoundedOperands o = choice_operands(40);
  const std::vector<double> output = RoundedKernel(o, kernel, Way::one_pass).run();
  const auto under = [](const AttentionProblem& problem, const PrecisionModel* model) {
    AuditOptions options;
    options.tolerance = ModelTolerance{.model = model};
    return audit(problem, options);
  };
  int passed_later = 0;
  for (int steps = 0; steps < 20; ++steps) {
    std::vector<double> off = output;
    for (double& x : off) x = test::rounded(binary16, x * (1 + steps * 0x1p-11));
    const AttentionProblem problem = to_problem(o, kernel, off);
    const AuditResult alone = under(problem, &f16_stored_model);
    if (under(problem, &f16_f32_model).verdict == Verdict::pass) continue;
    if (alone.verdict != Verdict::pass) continue;
    CAPTURE(steps);
    ++passed_later;
    const OutputAudit choice = audit_with_candidates(problem, {}, {}).front();
    CHECK(model_of(choice).model == &f16_stored_model);
    CHECK(choice.result.verdict == Verdict::pass);
    CHECK(choice.result.tally.elements == alone.tally.elements);
    CHECK(choice.result.tally.self_checked == alone.tally.self_checked);
    CHECK(alone.tally.self_checked > 0);
    CHECK(choice.result.tally.max_share == alone.tally.max_share);
  }
  CHECK(passed_later > 0);
}

TEST_CASE("model choice: NaN is explained by no model") {
  for (const KernelFormats& kernel : test::kernels_of_all_models()) {
    const RoundedOperands o = choice_operands(3);
    std::vector<double> output = RoundedKernel(o, kernel, Way::one_pass).run();
    output.back() = std::numeric_limits<double>::quiet_NaN();
    const OutputAudit choice =
        audit_with_candidates(to_problem(o, kernel, output), {}, {}, true).front();
    CHECK(choice.result.verdict == Verdict::fail);
    CHECK(choice.result.strength == FailureStrength::proved);
  }
}

TEST_CASE("model choice: accepting the worst case keeps to the tightest model that allows it") {
  const KernelFormats kernel = test::kernels_of_all_models()[2];
  RoundedOperands o = choice_operands(40);
  std::vector<double> output = RoundedKernel(o, kernel, Way::one_pass).run();
  // More than is likely, less than the worst case.
  for (double& x : output) x = test::rounded(binary16, x * (1 + 0x1.4p-10));
  const AttentionProblem problem = to_problem(o, kernel, output);
  const OutputAudit likely = audit_with_candidates(problem, {}, {}).front();
  CHECK(model_of(likely).tried.size() == 2);
  const OutputAudit accepted = audit_with_candidates(problem, {}, {}, true).front();
  CHECK(model_of(accepted).accept_worst_case);
  CHECK(accepted.result.verdict == Verdict::pass);
  CHECK(model_of(accepted).tried == Models{&f16_f32_model});
}

TEST_CASE("model choice: without an output there is nothing to audit") {
  const KernelFormats kernel = test::kernels_of_all_models()[1];
  const RoundedOperands o = choice_operands(2);
  AttentionProblem problem = to_problem(o, kernel, RoundedKernel(o, kernel, Way::tiles).run());
  problem.output.reset();
  CHECK(test::refusal_of([&] { audit_with_candidates(problem, {}, {}); }) ==
        "contract.missing_tensor at output");
}

TEST_CASE("model choice: reports name the model that explains a pass, and what was tried") {
  const auto kernels = test::kernels_of_all_models();
  OutputAudit loose = choose(kernels[2]);
  loose.tolerance = ModelTolerance{&f16_stored_model, false, {&f16_f32_model, &f16_stored_model}};
  const std::vector<AuditCase> cases{case_of(loose)};
  const auto tolerance = audit_json(cases)["cases"][0]["tolerance"];
  CHECK(tolerance["kind"] == "model");
  CHECK(tolerance["model"] == "f16-stored");
  CHECK(tolerance["tried"] == nlohmann::ordered_json{"f16-f32", "f16-stored"});
  CHECK(audit_text(cases).find(
            "finding: the rounding of f16-stored explains output, that of f16-f32 does not") !=
        std::string::npos);

  const std::vector<AuditCase> tight{case_of(choose(kernels[2]))};
  CHECK(audit_json(tight)["cases"][0]["tolerance"]["tried"] ==
        nlohmann::ordered_json::array({"f16-f32"}));
  CHECK(audit_text(tight).find("finding") == std::string::npos);

  AuditCase named = case_of(choose(kernels[2]));
  named.tolerance = ModelTolerance{&f16_model};
  CHECK_FALSE(audit_json({named})["cases"][0]["tolerance"].contains("tried"));
}
