// Random problems over all that a kernel may be asked: types, layouts, masks, pasts, sinks.
#pragma once

#include <string>
#include <vector>

#include "gqa/attention/attention_problem.hpp"
#include "gqa/kernel/host.hpp"
#include "support/random.hpp"
#include "support/typed.hpp"

namespace gqa::test {

struct RandomCall {
  ProblemTensors tensors;
  Contract contract;
  ElementType type = ElementType::binary32;
  KernelCallOptions options;
};

/// Normal numbers, rounded to the type.
inline std::shared_ptr<TypedTensor> normal_tensor(Random& random, ElementType type, Shape shape) {
  std::vector<std::uint64_t> bits;
  const std::int64_t count = element_count(shape);
  for (std::int64_t i = 0; i < count; ++i) {
    bits.push_back(round_to_nearest_even(*float_format(type), Rational(random.normal())));
  }
  return tensor_of_bits(type, std::move(shape), bits);
}

inline Shape shape_in(Layout layout, std::int64_t b, std::int64_t h, std::int64_t s,
                      std::int64_t d) {
  switch (layout) {
    case Layout::bshd:
      return {b, s, h, d};
    case Layout::sbhd:
      return {s, b, h, d};
    case Layout::bsh:
      return {b, s, h * d};
    case Layout::thd:
      return {s, h, d};
    default:
      return {b, h, s, d};
  }
}

/// Boolean or float; axes of extent 1 or left out; now and then a short last axis.
inline std::shared_ptr<TypedTensor> random_mask(Random& random, ElementType type, Shape full) {
  if (random.one_in(3)) full.back() = random.integer(1, full.back());
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (random.one_in(3)) full[axis] = 1;
  }
  const auto first = full.begin() + random.integer(0, full.front() == 1 ? 1 : 0);
  Shape shape(first, full.end());
  const bool boolean = random.one_in(2);
  std::vector<std::uint64_t> bits;
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    const bool hidden = random.one_in(4);
    if (boolean) {
      bits.push_back(hidden ? 0 : 1);
      continue;
    }
    const double infinity = std::numeric_limits<double>::infinity();
    bits.push_back(hidden ? encode_exact(*float_format(type), -infinity).value()
                          : round_to_nearest_even(*float_format(type), Rational(random.normal())));
  }
  return tensor_of_bits(boolean ? ElementType::boolean : type, std::move(shape), bits);
}

inline void random_contract(Random& random, std::int64_t q_heads, std::int64_t kv_heads,
                            Contract& c) {
  c.q_num_heads = q_heads;
  c.kv_num_heads = kv_heads;
  c.causal = random.one_in(2);
  c.causal_alignment = random.pick(
      {CausalAlignment::top_left, CausalAlignment::bottom_right, CausalAlignment::onnx});
  if (random.one_in(3)) c.window.left = random.integer(0, 5);
  if (random.one_in(3)) c.window.right = random.integer(0, 5);
  if (random.one_in(3)) c.scale = make_rational(3, 8);
  if (random.one_in(4)) c.softcap = make_rational(3, 2);
  c.empty_row = random.pick({EmptyRow::zero, EmptyRow::nan, EmptyRow::any, EmptyRow::mean});
  c.head_map.kind =
      random.pick({HeadMapKind::contiguous, HeadMapKind::interleaved, HeadMapKind::explicit_list});
  if (c.head_map.kind != HeadMapKind::explicit_list) return;
  for (std::int64_t h = 0; h < q_heads; ++h) {
    c.head_map.list.push_back(random.integer(0, kv_heads - 1));
  }
}

/// `type` for all tensors but, now and then, binary32 sinks and slopes.
inline RandomCall random_call(Random& random, ElementType type) {
  RandomCall call;
  call.type = type;
  const std::int64_t batch = random.integer(1, 2), kv_heads = random.integer(1, 3);
  const std::int64_t q_heads = kv_heads * random.integer(1, 3);
  const std::int64_t queries = random.integer(1, 5), keys = random.integer(1, 40);
  const std::int64_t past = random.one_in(3) ? random.integer(1, 20) : 0;
  const std::int64_t key_size = random.integer(1, 9), value_size = random.integer(1, 9);
  Contract& c = call.contract;
  random_contract(random, q_heads, kv_heads, c);
  c.layout = random.pick({Layout::bhsd, Layout::bshd, Layout::sbhd, Layout::bsh});
  ProblemTensors& t = call.tensors;
  t.query = normal_tensor(random, type, shape_in(c.layout, batch, q_heads, queries, key_size));
  t.key = normal_tensor(random, type, shape_in(c.layout, batch, kv_heads, keys, key_size));
  t.value = normal_tensor(random, type, shape_in(c.layout, batch, kv_heads, keys, value_size));
  if (past > 0) {
    t.past_key = normal_tensor(random, type, {batch, kv_heads, past, key_size});
    t.past_value = normal_tensor(random, type, {batch, kv_heads, past, value_size});
  }
  if (random.one_in(2)) {
    t.attn_mask = random_mask(random, type, {batch, q_heads, queries, past + keys});
  }
  if (random.one_in(3)) {
    std::vector<std::uint64_t> lengths;
    for (std::int64_t b = 0; b < batch; ++b) {
      lengths.push_back(static_cast<std::uint64_t>(random.integer(0, past + keys)));
    }
    t.nonpad_kv_seqlen = tensor_of_bits(ElementType::int64, {batch}, lengths);
  }
  if (random.one_in(3)) t.sink = normal_tensor(random, type, {q_heads});
  if (random.one_in(3)) {
    t.alibi_slopes = normal_tensor(random, ElementType::binary32,
                                   random.one_in(2) ? Shape{q_heads} : Shape{batch, q_heads});
  }
  const auto factor = [&] { return random.one_in(4) ? random.integer(2, 3) : 1; };
  call.options = {factor(), factor(), factor(), factor()};
  return call;
}

/// Documents of 0 to 5 queries and as many or more keys.
inline RandomCall random_packed_call(Random& random, ElementType type) {
  RandomCall call;
  call.type = type;
  const std::int64_t kv_heads = random.integer(1, 2), q_heads = kv_heads * random.integer(1, 3);
  const std::int64_t documents = random.integer(1, 4);
  const std::int64_t key_size = random.integer(1, 5), value_size = random.integer(1, 5);
  std::vector<std::uint64_t> q{0}, k{0};
  for (std::int64_t n = 0; n < documents; ++n) {
    const auto queries = static_cast<std::uint64_t>(random.integer(n == 0 ? 1 : 0, 5));
    q.push_back(q.back() + queries);
    k.push_back(k.back() + queries + static_cast<std::uint64_t>(random.integer(0, 20)));
  }
  ProblemTensors& t = call.tensors;
  const auto queries = static_cast<std::int64_t>(q.back());
  const auto keys = static_cast<std::int64_t>(k.back());
  random_contract(random, q_heads, kv_heads, call.contract);
  call.contract.layout = Layout::thd;
  t.query = normal_tensor(random, type, {queries, q_heads, key_size});
  t.key = normal_tensor(random, type, {keys, kv_heads, key_size});
  t.value = normal_tensor(random, type, {keys, kv_heads, value_size});
  t.cu_seqlens_q = tensor_of_bits(ElementType::int32, {documents + 1}, q);
  t.cu_seqlens_k = tensor_of_bits(ElementType::int64, {documents + 1}, k);
  if (random.one_in(2)) t.sink = normal_tensor(random, type, {q_heads});
  if (random.one_in(2)) t.alibi_slopes = normal_tensor(random, type, {documents, q_heads});
  return call;
}

}  // namespace gqa::test
