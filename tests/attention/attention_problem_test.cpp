#include "gqa/attention/attention_problem.hpp"

#include <doctest/doctest.h>

#include "support/errors.hpp"
#include "support/numbers.hpp"
#include "support/typed.hpp"

using namespace gqa;
using gqa::test::counting;
using gqa::test::f32;
using gqa::test::infinity;
using gqa::test::not_a_number;
using gqa::test::refusal_of;
using gqa::test::tensor_of;
using gqa::test::tensor_of_bits;

namespace {

// B=1, Hq=4, Hkv=2, T=2, S=3, dk=2, dv=1.
ProblemTensors good_tensors() {
  ProblemTensors tensors;
  tensors.query = counting(f32, {1, 4, 2, 2});
  tensors.key = counting(f32, {1, 2, 3, 2});
  tensors.value = counting(f32, {1, 2, 3, 1});
  tensors.output = counting(f32, {1, 4, 2, 1});
  return tensors;
}

template <class Change>
std::string problem_refusal(Change change, const Contract& contract = {}) {
  ProblemTensors tensors = good_tensors();
  change(tensors);
  return refusal_of([&] { make_problem(tensors, contract); });
}

}  // namespace

TEST_CASE("attention_problem: sizes, head map and operands of a good problem") {
  const AttentionProblem problem = make_problem(good_tensors(), {});
  CHECK(problem.dimensions == Dimensions{1, 4, 2, 2, 0, 3, 2, 1});
  CHECK(problem.head_map == std::vector<std::int64_t>{0, 0, 1, 1});
  CHECK(problem.key.value(0, 1, 2, 1) == 11);
  CHECK(problem.output->value(0, 3, 1, 0) == 7);
  CHECK_FALSE(problem.has_bias());
  CHECK_FALSE(problem.visibility.has_mask());
}

TEST_CASE("attention_problem: query, key and value are needed, the output is not") {
  CHECK(problem_refusal([](auto& t) { t.query = nullptr; }) == "contract.missing_tensor at query");
  CHECK(problem_refusal([](auto& t) { t.key = nullptr; }) == "contract.missing_tensor at key");
  CHECK(problem_refusal([](auto& t) { t.value = nullptr; }) == "contract.missing_tensor at value");
  CHECK(problem_refusal([](auto& t) { t.output = nullptr; }) == "none");
}

TEST_CASE("attention_problem: integers are no operands, floats are no lengths") {
  const auto integers = [](Shape shape) {
    const auto count = static_cast<std::size_t>(element_count(shape));
    return tensor_of_bits(ElementType::int64, std::move(shape),
                          std::vector<std::uint64_t>(count, 1));
  };
  CHECK(problem_refusal([&](auto& t) {
          t.query = integers({1, 4, 2, 2});
        }) == "contract.element_type at query");
  CHECK(problem_refusal([&](auto& t) {
          t.output = integers({1, 4, 2, 1});
        }) == "contract.element_type at output");
  CHECK(problem_refusal([&](auto& t) {
          t.attn_mask = integers({2, 3});
        }) == "contract.element_type at attn_mask");
  CHECK(problem_refusal([&](auto& t) { t.sink = integers({4}); }) ==
        "tensor.not_floating_point at sink");
  CHECK(problem_refusal([&](auto& t) { t.nonpad_kv_seqlen = counting(f32, {1}); }) ==
        "tensor.not_integer at nonpad_kv_seqlen");
  CHECK(problem_refusal([&](auto& t) {
          t.nonpad_kv_seqlen = integers({1, 1});
        }) == "contract.shape_rank at nonpad_kv_seqlen");
  CHECK(problem_refusal([&](auto& t) { t.nonpad_kv_seqlen = integers({2}); }) ==
        "contract.lengths at nonpad_kv_seqlen");
}

TEST_CASE("attention_problem: the rules of contract, shapes and head map are all asked") {
  Contract contract;
  contract.scale = -1;
  CHECK(problem_refusal([](auto&) {}, contract) == "contract.scale_not_positive at scale");
  contract = {};
  contract.head_map = {HeadMapKind::explicit_list, {0, 1}};
  CHECK(problem_refusal([](auto&) {}, contract) == "contract.head_map_length at head_map");
  CHECK(problem_refusal([](auto& t) {
          t.query = counting(f32, {1, 3, 2, 2});
          t.output = nullptr;
        }) == "contract.heads_not_divisible at head_map");
  CHECK(problem_refusal([](auto& t) {
          t.output = counting(f32, {1, 4, 2, 2});
        }) == "contract.shape_mismatch at output");
  CHECK(problem_refusal([](auto& t) {
          t.past_key = counting(f32, {1, 2, 1, 2});
        }) == "contract.past_incomplete at past_value");
  CHECK(problem_refusal([](auto& t) {
          t.past_value = counting(f32, {1, 2, 1, 1});
        }) == "contract.past_incomplete at past_key");
}

TEST_CASE("attention_problem: a declared head count that the tensors contradict is refused") {
  Contract contract;
  contract.q_num_heads = 8;
  CHECK(problem_refusal([](auto&) {}, contract) == "contract.head_count at q_num_heads");
  contract.q_num_heads = 4;
  contract.kv_num_heads = 4;
  CHECK(problem_refusal([](auto&) {}, contract) == "contract.head_count at kv_num_heads");
  contract.kv_num_heads = 2;
  CHECK(problem_refusal([](auto&) {}, contract) == "none");
}

TEST_CASE("attention_problem: folded heads are unfolded by the declared counts") {
  ProblemTensors tensors;
  tensors.query = counting(f32, {1, 2, 8});
  tensors.key = counting(f32, {1, 3, 4});
  tensors.value = counting(f32, {1, 3, 2});
  Contract contract;
  contract.layout = Layout::bsh;
  contract.q_num_heads = 4;
  contract.kv_num_heads = 2;
  const AttentionProblem problem = make_problem(tensors, contract);
  CHECK(problem.dimensions == Dimensions{1, 4, 2, 2, 0, 3, 2, 1});
  CHECK(problem.query.value(0, 3, 1, 1) == 15);
  CHECK(problem.value.value(0, 1, 2, 0) == 5);
}

TEST_CASE("attention_problem: past rows are seen before new ones, in BHSD whatever the layout") {
  ProblemTensors tensors;
  tensors.query = counting(f32, {1, 1, 1, 1});
  tensors.key = counting(f32, {1, 2, 1, 1});  // BSHD: S=2
  tensors.value = counting(f32, {1, 2, 1, 1});
  tensors.past_key = tensor_of({1, 1, 2, 1}, {10, 11});
  tensors.past_value = tensor_of({1, 1, 2, 1}, {20, 21});
  Contract contract;
  contract.layout = Layout::bshd;
  contract.causal = true;
  contract.causal_alignment = CausalAlignment::onnx;
  const AttentionProblem problem = make_problem(tensors, contract);
  CHECK(problem.dimensions.past == 2);
  CHECK(problem.dimensions.keys == 4);
  CHECK(problem.key.value(0, 0, 1, 0) == 11);
  CHECK(problem.key.value(0, 0, 2, 0) == 0);
  CHECK(problem.value.value(0, 0, 3, 0) == 1);
  CHECK(problem.visibility.keys_of(0, 0, 0) == std::vector<std::size_t>{0, 1, 2});
}

TEST_CASE("attention_problem: minus infinity in a float mask hides the key, the rest is bias") {
  ProblemTensors tensors = good_tensors();
  tensors.attn_mask = tensor_of(f32, {2, 3}, {0, -infinity, 1.5, -infinity, -infinity, -2});
  const AttentionProblem problem = make_problem(tensors, {});
  CHECK(problem.visibility.keys_of(0, 3, 0) == std::vector<std::size_t>{0, 2});
  CHECK(problem.visibility.keys_of(0, 0, 1) == std::vector<std::size_t>{2});
  REQUIRE(problem.bias.has_value());
  CHECK(problem.bias->data() == std::vector<double>{0, 0, 1.5, 0, 0, -2});
}

TEST_CASE("attention_problem: a float mask's short last axis hides the keys beyond it") {
  ProblemTensors tensors = good_tensors();
  tensors.attn_mask = tensor_of(f32, {2}, {0.5, 0.25});
  CHECK(make_problem(tensors, {}).visibility.keys_of(0, 0, 0) == std::vector<std::size_t>{0, 1});
  tensors.attn_mask = tensor_of(f32, {1}, {0.5});
  CHECK(make_problem(tensors, {}).visibility.keys_of(0, 0, 0) == std::vector<std::size_t>{0, 1, 2});
  tensors.attn_mask = tensor_of(f32, {1}, {-infinity});
  CHECK(make_problem(tensors, {}).visibility.keys_of(0, 0, 0).empty());
}

TEST_CASE("attention_problem: a mask without an axis is refused, float or boolean") {
  const char* expected = "contract.mask_not_broadcastable at attn_mask";
  CHECK(problem_refusal([](auto& t) { t.attn_mask = tensor_of(f32, {}, {0.5}); }) == expected);
  CHECK(problem_refusal([](auto& t) { t.attn_mask = tensor_of(f32, {}, {-infinity}); }) ==
        expected);
  CHECK(problem_refusal([](auto& t) {
          t.attn_mask = tensor_of_bits(ElementType::boolean, {}, {1});
        }) == expected);
}

TEST_CASE("attention_problem: any non-zero byte of a boolean mask attends") {
  ProblemTensors tensors = good_tensors();
  tensors.attn_mask = tensor_of_bits(ElementType::boolean, {3}, {0, 1, 255});
  CHECK(make_problem(tensors, {}).visibility.keys_of(0, 0, 0) == std::vector<std::size_t>{1, 2});
}

TEST_CASE("attention_problem: NaN in a sink or a slope is refused at its name") {
  CHECK(problem_refusal([](auto& t) {
          t.sink = tensor_of(f32, {4}, {0, 0, not_a_number, 0});
        }) == "contract.not_a_number at sink");
  CHECK(problem_refusal([](auto& t) {
          t.alibi_slopes = tensor_of(f32, {4}, {not_a_number, 0, 0, 0});
        }) == "contract.not_a_number at alibi_slopes");
}

TEST_CASE("attention_problem: slopes per head are those of every batch entry") {
  ProblemTensors tensors;
  tensors.query = counting(f32, {2, 2, 1, 1});
  tensors.key = counting(f32, {2, 1, 1, 1});
  tensors.value = counting(f32, {2, 1, 1, 1});
  tensors.alibi_slopes = tensor_of({2}, {0.5F, 0.25F});
  CHECK(*make_problem(tensors, {}).alibi_slopes == std::vector<double>{0.5, 0.25, 0.5, 0.25});
  tensors.alibi_slopes = tensor_of({2, 2}, {1, 2, 3, 4});
  CHECK(*make_problem(tensors, {}).alibi_slopes == std::vector<double>{1, 2, 3, 4});
  CHECK(make_problem(tensors, {}).has_bias());
}

TEST_CASE("attention_problem: the default scale is the real 1/sqrt(dk), a stated one is exact") {
  AttentionProblem problem = make_problem(good_tensors(), {});
  const Ball scale = problem.scale_ball();
  const Rational lower = scale.lower();
  const Rational upper = scale.upper();
  CHECK(lower * lower * 2 < 1);
  CHECK(upper * upper * 2 > 1);
  CHECK(upper - lower < power_of_two(-120));
  CHECK(problem.scale_double() == doctest::Approx(0.70710678118654752).epsilon(1e-15));
  problem.contract.scale = make_rational(1, 8);
  CHECK(problem.scale_ball().is_exact());
  CHECK(problem.scale_ball().contains(make_rational(1, 8)));
  CHECK(problem.scale_double() == 0.125);
}
