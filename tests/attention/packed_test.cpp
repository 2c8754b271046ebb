#include "gqa/attention/packed.hpp"

#include <doctest/doctest.h>

#include "support/errors.hpp"
#include "support/typed.hpp"

using namespace gqa;
using gqa::test::counting;
using gqa::test::f32;
using gqa::test::tensor_of;
using gqa::test::tensor_of_bits;

namespace {

std::shared_ptr<TypedTensor> offsets(const std::vector<std::uint64_t>& values,
                                     ElementType type = ElementType::int32) {
  return tensor_of_bits(type, {static_cast<std::int64_t>(values.size())}, values);
}

// Three documents of 1, 0 and 2 queries on 2, 1 and 2 keys; two query heads on one KV head.
ProblemTensors packed() {
  ProblemTensors t;
  t.query = counting(f32, {3, 2, 2});
  t.key = counting(f32, {5, 1, 2});
  t.value = counting(f32, {5, 1, 3});
  t.output = counting(f32, {3, 2, 3});
  t.cu_seqlens_q = offsets({0, 1, 1, 3});
  t.cu_seqlens_k = offsets({0, 2, 3, 5});
  return t;
}

Contract thd() {
  Contract contract;
  contract.layout = Layout::thd;
  return contract;
}

std::string packed_refusal(const ProblemTensors& tensors, const Contract& contract = thd()) {
  return test::refusal_of([&] { cut_documents(tensors, contract); });
}

}  // namespace

TEST_CASE("packed: each document keeps its own rows and its own number") {
  const auto documents = cut_documents(packed(), thd());
  REQUIRE(documents.size() == 2);
  CHECK(documents[0].index == 0);
  CHECK(documents[1].index == 2);
  const AttentionProblem first = make_problem(documents[0].tensors, thd());
  CHECK(first.dimensions == Dimensions{1, 2, 1, 1, 0, 2, 2, 3});
  CHECK(first.query.value(0, 1, 0, 0) == 2);
  CHECK(first.key.value(0, 0, 1, 1) == 3);
  const AttentionProblem last = make_problem(documents[1].tensors, thd());
  CHECK(last.dimensions == Dimensions{1, 2, 1, 2, 0, 2, 2, 3});
  CHECK(last.query.value(0, 0, 0, 0) == 4);
  CHECK(last.query.value(0, 1, 1, 1) == 11);
  CHECK(last.key.value(0, 0, 0, 0) == 6);
  CHECK(last.value.value(0, 0, 1, 2) == 14);
  CHECK(last.output->value(0, 1, 1, 2) == 17);
}

TEST_CASE("packed: bottom right is the end of the document, not of the pack") {
  Contract contract = thd();
  contract.causal = true;
  ProblemTensors t = packed();
  t.cu_seqlens_q = offsets({0, 2, 3}, ElementType::int64);
  t.cu_seqlens_k = offsets({0, 3, 5}, ElementType::int64);
  const auto documents = cut_documents(t, contract);
  const AttentionProblem first = make_problem(documents[0].tensors, contract);
  CHECK(first.visibility.keys_of(0, 0, 0) == std::vector<std::size_t>{0, 1});
  CHECK(first.visibility.keys_of(0, 0, 1) == std::vector<std::size_t>{0, 1, 2});
  const AttentionProblem second = make_problem(documents[1].tensors, contract);
  CHECK(second.visibility.keys_of(0, 0, 0) == std::vector<std::size_t>{0, 1});
}

TEST_CASE("packed: without cu_seqlens_k keys are cut as queries are") {
  ProblemTensors t = packed();
  t.key = counting(f32, {3, 1, 2});
  t.value = counting(f32, {3, 1, 3});
  t.cu_seqlens_k.reset();
  const auto documents = cut_documents(t, thd());
  CHECK(documents[1].tensors.key->shape == Shape{2, 1, 2});
}

TEST_CASE("packed: lse and slopes are cut, a sink belongs to all documents") {
  ProblemTensors t = packed();
  t.lse = counting(f32, {2, 3});
  t.alibi_slopes = counting(f32, {3, 2});
  t.sink = counting(f32, {2});
  const auto documents = cut_documents(t, thd());
  CHECK(documents[1].tensors.lse->shape == Shape{1, 2, 2});
  CHECK(decode(*documents[1].tensors.lse).data() == std::vector<double>{1, 2, 4, 5});
  CHECK(documents[1].tensors.alibi_slopes->shape == Shape{2});
  CHECK(decode(*documents[1].tensors.alibi_slopes).data() == std::vector<double>{4, 5});
  CHECK(documents[0].tensors.sink == t.sink);
  t.alibi_slopes = counting(f32, {2});
  CHECK(cut_documents(t, thd())[1].tensors.alibi_slopes == t.alibi_slopes);
}

TEST_CASE("packed: without offsets there is one document, the tensors as they are") {
  ProblemTensors t = packed();
  t.cu_seqlens_q.reset();
  CHECK(packed_refusal(t) == "contract.packed_offsets at cu_seqlens_k");
  t.cu_seqlens_k.reset();
  const auto documents = cut_documents(t, {});
  REQUIRE(documents.size() == 1);
  CHECK(documents[0].tensors.query == t.query);
}

TEST_CASE("packed: offsets must go from 0 to the last row and never fall") {
  const auto with = [](const std::shared_ptr<TypedTensor>& q) {
    ProblemTensors t = packed();
    t.cu_seqlens_q = q;
    return packed_refusal(t);
  };
  const std::string refused = "contract.packed_offsets at cu_seqlens_q";
  CHECK(with(offsets({1, 1, 1, 3})) == refused);
  CHECK(with(offsets({0, 2, 1, 3})) == refused);
  CHECK(with(offsets({0, 1, 1, 2})) == refused);
  CHECK(with(offsets({0, 1, 1, 4})) == refused);
  CHECK(with(offsets({0, 0xFFFFFFFF, 1, 3})) == refused);  // -1
  CHECK(with(offsets({0})) == refused);
  CHECK(with(offsets({0, 1, 1, 3}, ElementType::uint8)) == refused);
  CHECK(with(tensor_of({4}, {0, 1, 1, 3})) == refused);
  CHECK(with(tensor_of_bits(ElementType::int32, {2, 2}, {0, 1, 1, 3})) == refused);
  CHECK(with(offsets({0, 3})) == "contract.packed_offsets at cu_seqlens_k");
  ProblemTensors t = packed();
  t.cu_seqlens_k = offsets({0, 2, 3, 6});
  CHECK(packed_refusal(t) == "contract.packed_offsets at cu_seqlens_k");
}

TEST_CASE("packed: layouts and tensors without a packed form are refused by name") {
  CHECK(packed_refusal(packed(), {}) == "contract.packed_layout at cu_seqlens_q");
  ProblemTensors t = packed();
  t.attn_mask = counting(f32, {3, 5});
  CHECK(packed_refusal(t) == "contract.packed_tensor at attn_mask");
  t = packed();
  t.present_key = t.key;
  CHECK(packed_refusal(t) == "contract.packed_tensor at present_key");
  t = packed();
  t.value = counting(f32, {4, 1, 3});
  CHECK(packed_refusal(t) == "contract.shape_mismatch at value");
  t = packed();
  t.output = counting(f32, {2, 2, 3});
  CHECK(packed_refusal(t) == "contract.shape_mismatch at output");
  t = packed();
  t.lse = counting(f32, {3, 2});
  CHECK(packed_refusal(t) == "contract.shape_mismatch at lse");
  t = packed();
  t.alibi_slopes = counting(f32, {2, 2});
  CHECK(packed_refusal(t) == "contract.shape_mismatch at alibi_slopes");
  t = packed();
  t.query = counting(f32, {1, 3, 2, 2});
  CHECK(packed_refusal(t) == "contract.shape_rank at query");
  t = packed();
  t.key.reset();
  CHECK(packed_refusal(t) == "contract.missing_tensor at key");
}

TEST_CASE("packed: nothing to audit is refused, and so is a pack that nobody cut") {
  ProblemTensors t = packed();
  t.query = counting(f32, {0, 2, 2});
  t.output = counting(f32, {0, 2, 3});
  t.cu_seqlens_q = offsets({0, 0, 0, 0});
  CHECK(packed_refusal(t) == "audit.nothing_to_audit at cu_seqlens_q");
  CHECK(test::refusal_of([] { make_problem(packed(), thd()); }) ==
        "contract.packed_not_cut at cu_seqlens_q");
}
