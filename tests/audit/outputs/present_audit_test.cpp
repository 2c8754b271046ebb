#include "gqa/audit/outputs/present_audit.hpp"

#include <doctest/doctest.h>

#include "gqa/audit/audit_outputs.hpp"
#include "support/errors.hpp"
#include "support/typed.hpp"

using namespace gqa;
using gqa::test::tensor_of;
using gqa::test::tensor_of_bits;

namespace {

constexpr std::uint64_t quiet_nan = 0x7fc00000;

// Two KV heads, past (NaN) and (1), new (-0) and (2): present is head by head.
ProblemTensors two_heads() {
  ProblemTensors t;
  t.query = tensor_of({1, 2, 1, 1}, {0, 0});
  t.past_key = tensor_of_bits(ElementType::binary32, {1, 2, 1, 1}, {quiet_nan, 0x3f800000});
  t.key = tensor_of_bits(ElementType::binary32, {1, 2, 1, 1}, {0x80000000, 0x40000000});
  t.past_value = t.past_key;
  t.value = t.key;
  t.output = tensor_of({1, 2, 1, 1}, {0, 0});
  return t;
}

AuditResult present(const std::vector<std::uint64_t>& bits) {
  const AttentionProblem problem = make_problem(two_heads(), {});
  return audit_present(problem.key, tensor_of_bits(ElementType::binary32, {1, 2, 2, 1}, bits),
                       "present_key");
}

}  // namespace

TEST_CASE("present: past followed by new passes, NaN and the sign of zero included") {
  const AuditResult result = present({quiet_nan, 0x80000000, 0x3f800000, 0x40000000});
  CHECK(result.verdict == Verdict::pass);
  CHECK(result.tally.elements == 4);
  CHECK(result.tally.decided_exactly == 4);
  CHECK(result.tally.measured == 3);
}

TEST_CASE("present: equal values with other bits fail, and so does new before past") {
  for (const auto& [bits, where] : {
           std::pair<std::vector<std::uint64_t>, const char*>{
               {quiet_nan, 0, 0x3f800000, 0x40000000},
               "1 of 4 elements in batch 0, KV head 0; key 1"},
           {{quiet_nan + 1, 0x80000000, 0x3f800000, 0x40000000},
            "1 of 4 elements in batch 0, KV head 0; key 0"},
           {{0x80000000, quiet_nan, 0x40000000, 0x3f800000}, "all of batch 0, every KV head"},
           {{quiet_nan, 0x80000000, 0x3f800001, 0x40000001}, "all of batch 0, KV head 1"},
       }) {
    const AuditResult result = present(bits);
    CAPTURE(where);
    CHECK(result.verdict == Verdict::fail);
    CHECK(result.strength == FailureStrength::proved);
    CHECK(result.where == where);
  }
}

TEST_CASE("present: without a past the new rows alone are repeated") {
  ProblemTensors t = two_heads();
  t.past_key.reset();
  t.past_value.reset();
  const AttentionProblem problem = make_problem(t, {});
  CHECK(audit_present(problem.key, t.key, "present_key").verdict == Verdict::pass);
}

TEST_CASE("present: other shapes and types are refused by name") {
  const AttentionProblem problem = make_problem(two_heads(), {});
  const auto refusal = [&](const std::shared_ptr<TypedTensor>& tensor) {
    return test::refusal_of([&] { audit_present(problem.value, tensor, "present_value"); });
  };
  CHECK(refusal(test::counting(ElementType::binary32, {1, 2, 2})) ==
        "contract.shape_rank at present_value");
  CHECK(refusal(test::counting(ElementType::binary32, {1, 2, 1, 1})) ==
        "contract.shape_mismatch at present_value");
  CHECK(refusal(test::counting(ElementType::binary64, {1, 2, 2, 1})) ==
        "contract.element_type at present_value");
  CHECK(refusal(tensor_of_bits(ElementType::int32, {1, 2, 2, 1}, {0, 1, 2, 3})) ==
        "contract.element_type at present_value");
}

TEST_CASE("outputs: each one there is audited under its name, and the worst verdict counts") {
  ProblemTensors t;
  t.query = tensor_of({1, 1, 1, 1}, {0});
  t.key = tensor_of({1, 1, 2, 1}, {1, 2});
  t.value = tensor_of({1, 1, 2, 1}, {4, 8});
  t.output = tensor_of({1, 1, 1, 1}, {6});
  AuditOptions options;
  options.tolerance = AbsoluteRelativeTolerance{};
  const auto verdicts = [&] {
    std::string text;
    const auto outputs = audit_outputs(make_problem(t, {}), t, options);
    for (const OutputAudit& output : outputs) {
      text += output.name + " " + std::string(name(output.result.verdict)) + "; ";
    }
    return text + std::string(name(worst_verdict(outputs)));
  };
  CHECK(verdicts() == "output pass; pass");
  t.present_key = t.key;
  t.present_value = t.key;
  t.qk_matmul_output = tensor_of({1, 1, 1, 2}, {0.5F, 0.5F});
  t.qk_matmul_output_mode = 3;
  t.lse = tensor_of({1, 1, 1}, {0.6931472F});
  CHECK(verdicts() ==
        "output pass; present_key pass; present_value fail; qk_matmul_output pass; lse fail; fail");
  t.present_value = t.value;
  options.tolerance = AbsoluteRelativeTolerance{make_rational(1, 1000000), 0};
  CHECK(verdicts() ==
        "output pass; present_key pass; present_value pass; qk_matmul_output pass; lse pass; pass");
  CHECK(worst_verdict({}) == Verdict::undecided);
}
