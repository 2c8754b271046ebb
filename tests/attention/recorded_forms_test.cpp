#include "gqa/attention/recorded_forms.hpp"

#include <doctest/doctest.h>

#include "gqa/attention/attention_problem.hpp"
#include "support/errors.hpp"
#include "support/typed.hpp"

using namespace gqa;
using gqa::test::counting;
using gqa::test::f32;
using gqa::test::tensor_of;
using gqa::test::tensor_of_bits;

namespace {

std::shared_ptr<TypedTensor> lengths(const std::vector<std::uint64_t>& values) {
  return tensor_of_bits(ElementType::int32, {static_cast<std::int64_t>(values.size())}, values);
}

// Two batch entries, one KV head, a cache of 4 slots, one new key -1 and -2, of which 1 and 3 slots
// were valid before.
ProblemTensors static_cache() {
  ProblemTensors t;
  t.query = counting(f32, {2, 1, 1, 1});
  t.key = tensor_of(f32, {2, 1, 1, 1}, {-1, -2});
  t.value = tensor_of(f32, {2, 1, 1, 1}, {-3, -4});
  t.past_key = counting(f32, {2, 1, 4, 1});
  t.past_value = counting(f32, {2, 1, 4, 1});
  t.past_lengths = lengths({1, 3});
  return t;
}

std::string refusal(const ProblemTensors& tensors, const Contract& contract = {}) {
  return test::refusal_of([&] { plain_recording(tensors, contract); });
}

}  // namespace

TEST_CASE("recorded forms: lse and its gradient are turned to heads before rows") {
  ProblemTensors t;
  t.lse = counting(ElementType::binary64, {2, 3, 2});
  t.grad_lse = counting(f32, {3, 2});
  Contract contract;
  contract.lse.layout = LseLayout::bth;
  const PlainRecording plain = plain_recording(t, contract);
  CHECK(plain.tensors.lse->shape == Shape{2, 2, 3});
  CHECK(decode(*plain.tensors.lse).data() ==
        std::vector<double>{0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11});
  CHECK(plain.tensors.grad_lse->shape == Shape{2, 3});
  CHECK(decode(*plain.tensors.grad_lse).data() == std::vector<double>{0, 2, 4, 1, 3, 5});
  // Said once: the plain recording is plain.
  CHECK(plain.contract.lse.layout == LseLayout::bht);
  t.lse = counting(f32, {6});
  CHECK(refusal(t, contract) == "contract.shape_rank at lse");
}

TEST_CASE("recorded forms: new keys stand where a static cache's valid ones end") {
  const PlainRecording plain = plain_recording(static_cache(), {});
  CHECK(plain.tensors.key->shape == Shape{2, 1, 4, 1});
  CHECK(decode(*plain.tensors.key).data() == std::vector<double>{0, -1, 2, 3, 4, 5, 6, -2});
  CHECK(decode(*plain.tensors.value).data() == std::vector<double>{0, -3, 2, 3, 4, 5, 6, -4});
  CHECK(decode_integers(*plain.tensors.nonpad_kv_seqlen).data() == std::vector<std::int64_t>{2, 4});
  CHECK(plain.tensors.past_key == nullptr);
  const AttentionProblem problem = make_problem(plain.tensors, plain.contract);
  CHECK(problem.visibility.visible(0, 0, 0, 1));
  CHECK(!problem.visibility.visible(0, 0, 0, 2));
  CHECK(problem.visibility.visible(1, 0, 0, 3));
}

TEST_CASE("recorded forms: new rows are read in their own layout") {
  ProblemTensors t = static_cache();
  Contract contract;
  contract.layout = Layout::bshd;
  t.query = counting(f32, {1, 2, 2, 1});
  t.key = tensor_of(f32, {1, 2, 2, 1}, {-1, -2, -3, -4});
  t.value = t.key;
  t.past_key = counting(f32, {1, 2, 3, 1});
  t.past_value = t.past_key;
  t.past_lengths = lengths({1});
  const PlainRecording plain = plain_recording(t, contract);
  CHECK(decode(*plain.tensors.key).data() == std::vector<double>{0, -1, -3, 3, -2, -4});
  CHECK(plain.contract.layout_of(Operand::key) == Layout::bhsd);
  CHECK(plain.contract.layout_of(Operand::query) == Layout::bshd);
}

TEST_CASE("recorded forms: a present cache of the past's capacity shows that it is static") {
  ProblemTensors t = static_cache();
  t.past_lengths.reset();
  t.nonpad_kv_seqlen = lengths({2, 4});
  // Without a present cache the lengths count past and new keys, one behind the other.
  CHECK(plain_recording(t, {}).tensors.past_key != nullptr);
  t.present_key = counting(f32, {2, 1, 5, 1});
  CHECK(plain_recording(t, {}).tensors.past_key != nullptr);
  t.present_key = counting(f32, {2, 1, 4, 1});
  CHECK(decode(*plain_recording(t, {}).tensors.key).data() ==
        std::vector<double>{0, -1, 2, 3, 4, 5, 6, -2});
}

TEST_CASE("recorded forms: what a present cache holds behind the last key is left out") {
  ProblemTensors t = static_cache();
  t.past_lengths.reset();
  t.nonpad_kv_seqlen = lengths({5, 5});
  t.present_key = counting(f32, {2, 1, 7, 1});
  t.present_value = counting(f32, {2, 1, 7, 1});
  const PlainRecording plain = plain_recording(t, {});
  CHECK(plain.tensors.present_key->shape == Shape{2, 1, 5, 1});
  CHECK(decode(*plain.tensors.present_value).data() ==
        std::vector<double>{0, 1, 2, 3, 4, 7, 8, 9, 10, 11});
}

TEST_CASE("recorded forms: a static cache that contradicts itself is refused by name") {
  const auto changed = [](const auto& change) {
    ProblemTensors t = static_cache();
    change(t);
    return refusal(t);
  };
  CHECK(changed([](ProblemTensors& t) {
          t.past_lengths = lengths({1, 4});
        }) == "contract.static_cache at past_lengths");
  CHECK(changed([](ProblemTensors& t) {
          t.past_lengths = tensor_of_bits(ElementType::int64, {2}, {1, ~std::uint64_t{0}});
        }) == "contract.static_cache at past_lengths");
  CHECK(changed([](ProblemTensors& t) { t.past_lengths = lengths({1}); }) ==
        "contract.shape_mismatch at past_lengths");
  CHECK(changed([](ProblemTensors& t) {
          t.nonpad_kv_seqlen = lengths({2, 3});
        }) == "contract.static_cache at nonpad_kv_seqlen");
  CHECK(changed([](ProblemTensors& t) { t.past_key.reset(); }) ==
        "contract.static_cache at past_lengths");
  CHECK(changed([](ProblemTensors& t) {
          t.past_value = counting(f32, {2, 1, 5, 1});
        }) == "contract.shape_mismatch at past_value");
  CHECK(changed([](ProblemTensors& t) {
          t.past_key = counting(ElementType::binary64, {2, 1, 4, 1});
        }) == "contract.element_type at past_key");
  CHECK(changed([](ProblemTensors& t) {
          t.grad_key = counting(f32, {2, 1, 1, 1});
        }) == "contract.static_cache at grad_key");
}
