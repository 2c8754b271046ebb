// Problems for the filter's tests: drawn at random, or of one head and one kind of numbers.
#pragma once

#include <fmt/format.h>

#include <limits>

#include "audit/filter_support.hpp"

namespace gqa_test {

using namespace gqa;

// Sizes and rules drawn at random, biased to corners.
struct RandomProblem {
  Contract contract;
  ProblemTensors tensors;
  std::string description;

  explicit RandomProblem(Random& random) {
    batch = chance(random, 0.3) ? 2 : 1;
    kv_heads = integer(random, 1, 2);
    q_heads = kv_heads * integer(random, 1, 3);
    queries = one_of<std::int64_t>(random, {1, 1, 2, 5, 17});
    past = chance(random, 0.2) ? integer(random, 1, 20) : 0;
    keys = one_of<std::int64_t>(random, {1, 2, 3, 15, 16, 17, 33, 70, 130});
    dk = one_of<std::int64_t>(random, {1, 2, 7, 16, 33, 64});
    dv = one_of<std::int64_t>(random, {1, 3, 16, 40});
    draw_operands(random);
    draw_rules(random);
    if (chance(random, 0.3)) draw_bias(random);
  }

 private:
  std::vector<double> drawn(Random& random, std::int64_t count, bool values) {
    const Draw kind =
        values ? one_of(random, {Draw::normal, Draw::uniform, Draw::equal, Draw::subnormal,
                                 Draw::mixed_magnitudes, Draw::integers, Draw::normal})
               : one_of(random,
                        {Draw::normal, Draw::normal, Draw::uniform, Draw::tiny, Draw::huge,
                         Draw::subnormal, Draw::equal, Draw::integers, Draw::mixed_magnitudes});
    description += fmt::format(" {}", static_cast<int>(kind));
    return draw(random, kind, static_cast<std::size_t>(count));
  }

  // Of three kinds, most of them.
  void repeat_rows(Random& random, std::vector<double>& elements, std::size_t width) {
    description += " repeated";
    for (std::size_t row = 3; row * width < elements.size(); ++row) {
      if (chance(random, 0.2)) continue;
      const auto from = static_cast<std::size_t>(integer(random, 0, 2)) * width;
      for (std::size_t c = 0; c < width; ++c) elements[row * width + c] = elements[from + c];
    }
  }

  void draw_operands(Random& random) {
    const ElementType type =
        one_of(random, {ElementType::binary64, ElementType::binary64, ElementType::binary32,
                        ElementType::binary16, ElementType::bfloat16});
    const auto make = [&](std::int64_t heads, std::int64_t rows, std::int64_t width, bool values) {
      std::vector<double> elements = drawn(random, batch * heads * rows * width, values);
      if (chance(random, 0.25)) repeat_rows(random, elements, static_cast<std::size_t>(width));
      return tensor_of({batch, heads, rows, width}, elements, type);
    };
    tensors.query = make(q_heads, queries, dk, false);
    tensors.key = make(kv_heads, keys, dk, false);
    tensors.value = make(kv_heads, keys, dv, true);
    if (past > 0) {
      tensors.past_key = make(kv_heads, past, dk, false);
      tensors.past_value = make(kv_heads, past, dv, true);
    }
  }

  void draw_rules(Random& random) {
    contract.causal = chance(random, 0.4);
    contract.causal_alignment =
        one_of(random, {CausalAlignment::top_left, CausalAlignment::bottom_right});
    if (chance(random, 0.25)) contract.window = {integer(random, -1, 9), integer(random, -1, 9)};
    if (chance(random, 0.25)) {
      contract.softcap =
          one_of(random, {Rational(30), Rational(1, 3), Rational(2), Rational(1000)});
    }
    if (chance(random, 0.2)) contract.scale = one_of(random, {Rational(1), Rational(1, 3)});
    if (chance(random, 0.25)) {
      std::vector<double> sinks = draw(random, Draw::huge, static_cast<std::size_t>(q_heads));
      tensors.sink = tensor_of({q_heads}, sinks, ElementType::binary64);
    }
    if (chance(random, 0.2)) {
      tensors.alibi_slopes =
          tensor_of({q_heads}, draw(random, Draw::uniform, static_cast<std::size_t>(q_heads)),
                    ElementType::binary64);
    }
    if (chance(random, 0.2)) draw_lengths(random);
  }

  void draw_lengths(Random& random) {
    auto lengths = std::make_shared<TypedTensor>();
    lengths->type = ElementType::int64;
    lengths->shape = {batch};
    for (std::int64_t b = 0; b < batch; ++b) {
      const std::int64_t length = integer(random, 0, past + keys);
      const auto* bytes = reinterpret_cast<const std::byte*>(&length);
      lengths->bytes.insert(lengths->bytes.end(), bytes, bytes + sizeof length);
    }
    tensors.nonpad_kv_seqlen = lengths;
  }

  void draw_bias(Random& random) {
    const Shape shape = one_of<Shape>(random, {{batch, q_heads, queries, past + keys},
                                               {queries, past + keys},
                                               {1, 1, 1, past + keys},
                                               {batch, 1, queries, past + keys},
                                               {queries, 1},
                                               {queries, (past + keys + 1) / 2}});
    const auto count = static_cast<std::size_t>(element_count(shape));
    if (chance(random, 0.4)) {
      std::vector<char> mask(count);
      for (char& flag : mask) flag = chance(random, 0.7) ? 1 : 0;
      tensors.attn_mask = booleans_of(shape, mask);
      return;
    }
    std::vector<double> bias = draw(random, one_of(random, {Draw::normal, Draw::huge}), count);
    // What people write for "not visible".
    const double fill =
        one_of(random, {-std::numeric_limits<double>::infinity(), -3.4e38, -1e9, -1e4});
    for (double& value : bias) {
      if (chance(random, 0.3)) value = fill;
    }
    tensors.attn_mask = tensor_of(shape, bias, ElementType::binary64);
  }

  std::int64_t batch, kv_heads, q_heads, queries, past, keys, dk, dv;
};

inline FilterOptions random_options(Random& random) {
  FilterOptions options;
  options.tile_rows = one_of<std::int64_t>(random, {1, 3, 16, 256});
  options.key_block = one_of<std::int64_t>(random, {16, 32, 256});
  options.key_segment = one_of<std::int64_t>(random, {options.key_block, 4096});
  options.model_terms = chance(random, 0.5);
  options.threads = 2;
  return options;
}

// One head, one kind of numbers; for the cases below.
struct Plain {
  std::int64_t queries = 1, keys = 1, dk = 8, dv = 4;
  std::vector<double> query, key, value;
  Contract contract;
  ProblemTensors extra;

  Plain(Random& random, std::int64_t queries_, std::int64_t keys_, Draw scores, Draw values)
      : queries(queries_), keys(keys_) {
    query = draw(random, scores, static_cast<std::size_t>(queries * dk));
    key = draw(random, scores, static_cast<std::size_t>(keys * dk));
    value = draw(random, values, static_cast<std::size_t>(keys * dv));
  }
  AttentionProblem problem() const {
    ProblemTensors tensors = extra;
    tensors.query = tensor_of({1, 1, queries, dk}, query, ElementType::binary64);
    tensors.key = tensor_of({1, 1, keys, dk}, key, ElementType::binary64);
    tensors.value = tensor_of({1, 1, keys, dv}, value, ElementType::binary64);
    return make_problem(tensors, contract);
  }
};

}  // namespace gqa_test
