#include "gqa/io/onnx_contrib.hpp"

#include <fmt/format.h>

#include <limits>

namespace gqa {
namespace {

using TensorPointer = OnnxArguments::TensorPointer;

constexpr std::int64_t no_contrib_limit = std::numeric_limits<std::int32_t>::max();

// Query, key and value [B, S, H * D] at positions 0 to 2.
void read_projections(OnnxArguments& arguments, ProblemTensors& tensors) {
  tensors.query = arguments.required_input(0, "query");
  tensors.key = arguments.input(1);
  tensors.value = arguments.input(2);
  if (!tensors.key || !tensors.value) {
    arguments.fail("onnx.packed_inputs", "input 0", "packed query, key and value are not read");
  }
  for (const TensorPointer& tensor : {tensors.query, tensors.key, tensors.value}) {
    if (tensor->shape.size() != 3) {
      arguments.fail("onnx.rank", "inputs 0 to 2",
                     fmt::format("shape {} does not have 3 axes", to_text(tensor->shape)));
    }
  }
}

void read_outputs(OnnxArguments& arguments, ProblemTensors& tensors) {
  tensors.output = arguments.output(0);
  tensors.present_key = arguments.output(1);
  tensors.present_value = arguments.output(2);
}

// ONNX Runtime takes a scale of 0 for "not given".
std::optional<Rational> read_scale(OnnxArguments& arguments) {
  const auto scale = arguments.number("scale");
  return scale && *scale == 0 ? std::nullopt : scale;
}

// An axis of a past tensor; its rank is checked where the problem is built.
std::int64_t past_length(const ProblemTensors& tensors) {
  return tensors.past_key && tensors.past_key->shape.size() == 4 ? tensors.past_key->shape[2] : 0;
}

// Shorter entries put new keys inside the past, which "past followed by new" cannot say.
void require_full_length(OnnxArguments& arguments, std::size_t position, const std::string& name,
                         std::int64_t expected) {
  const TensorPointer tensor = arguments.required_input(position, name);
  const std::string place = fmt::format("input {}", position);
  if (tensor->type != ElementType::int32) {
    arguments.fail("onnx.attribute_type", place, fmt::format("{} must hold int32", name));
  }
  const Tensor<std::int64_t> values = decode_integers(*tensor, name);
  for (const std::int64_t value : values.data()) {
    if (value == expected) continue;
    arguments.fail("onnx.ragged_batch", place,
                   fmt::format("{} holds {}; only {}, all of past and new keys, maps onto the "
                               "contract",
                               name, value, expected));
  }
}

// Attributes of inputs that are refused where they are there, and so without effect.
void ignore_unused_attributes(OnnxArguments& arguments) {
  arguments.integer("do_rotary", 0, 0, 0);
  arguments.integer("rotary_interleaved");
  arguments.integer("sliding_window_cache", 0, 0, 0);
  arguments.integer("qk_output", 0, 0, 0);
  arguments.integer("kv_cache_bit_width");
  arguments.number("qk_norm_epsilon");
  for (const char* name : {"k_quant_type", "v_quant_type"}) {
    if (arguments.text(name, "NONE") != "NONE") {
      arguments.fail("onnx.attribute_value", fmt::format("attribute {}", name),
                     "quantized caches are not supported");
    }
  }
}

// A zero logit for every head: what smooth_softmax adds to the denominator.
TensorPointer zero_sinks(std::int64_t heads) {
  const auto count = static_cast<std::size_t>(heads);
  return std::make_shared<const TypedTensor>(
      TypedTensor{ElementType::binary32, {heads}, std::vector<std::byte>(4 * count)});
}

// An attribute is four bytes and may say two thousand million heads: room is made for no more than
// the query has columns and elements.
void require_heads_of_query(OnnxArguments& arguments, const Recording& recording) {
  const std::int64_t heads = *recording.contract.q_num_heads;
  const TypedTensor& query = *recording.tensors.query;
  constexpr std::int64_t free_heads = 1 << 16;
  const auto elements = static_cast<std::int64_t>(query.size());
  if (heads <= query.shape[2] && heads <= elements + free_heads) return;
  arguments.fail("onnx.heads_mismatch", "attribute num_heads",
                 fmt::format("is {}; the query of shape {} has no room for as many heads", heads,
                             to_text(query.shape)));
}

void read_sink(OnnxArguments& arguments, Recording& recording) {
  recording.tensors.sink = arguments.input(11);
  const bool smooth = arguments.integer("smooth_softmax", 0, -1, 1) == 1;
  if (smooth && recording.tensors.sink) {
    arguments.fail("onnx.attribute_value", "attribute smooth_softmax",
                   "head_sink is given too; one of them is expected");
  }
  if (!smooth) return;
  require_heads_of_query(arguments, recording);
  recording.tensors.sink = zero_sinks(*recording.contract.q_num_heads);
}

}  // namespace

Recording bind_group_query_attention(OnnxArguments& arguments) {
  Recording recording;
  ProblemTensors& tensors = recording.tensors;
  Contract& contract = recording.contract;
  read_projections(arguments, tensors);
  tensors.past_key = arguments.input(3);
  tensors.past_value = arguments.input(4);
  const std::int64_t keys = past_length(tensors) + tensors.key->shape[1];
  require_full_length(arguments, 5, "seqlens_k", keys - 1);  // it counts from zero
  require_full_length(arguments, 6, "total_sequence_length", keys);
  tensors.attn_mask = arguments.input(10);
  read_outputs(arguments, tensors);
  contract.dialect = "onnxruntime-gqa";
  contract.layout = Layout::bsh;
  contract.q_num_heads = arguments.head_count("num_heads");
  contract.kv_num_heads = arguments.head_count("kv_num_heads");
  contract.scale = read_scale(arguments);
  contract.softcap = arguments.number("softcap").value_or(Rational(0));
  contract.causal = arguments.integer("causal", 1, 0, 1) == 1;
  contract.causal_alignment = CausalAlignment::bottom_right;
  const std::int64_t window =
      arguments.integer("local_window_size", -1, -1, contract.causal ? no_contrib_limit : -1);
  if (window == 0) {
    arguments.fail("onnx.attribute_value", "attribute local_window_size",
                   "is 0; expected -1 or a positive number of keys");
  }
  // The window counts the query's own key (fixtures/recordings/README.md measures it); the
  // word is kept, so that another version of the dialect may count otherwise.
  if (window > 0) {
    contract.window = {window - 1, 0};
    contract.window_word = WindowWord{"local_window_size", window};
  }
  read_sink(arguments, recording);
  ignore_unused_attributes(arguments);
  return recording;
}

Recording bind_multi_head_attention(OnnxArguments& arguments) {
  Recording recording;
  ProblemTensors& tensors = recording.tensors;
  Contract& contract = recording.contract;
  read_projections(arguments, tensors);
  tensors.attn_mask = arguments.input(5);
  tensors.past_key = arguments.input(6);
  tensors.past_value = arguments.input(7);
  read_outputs(arguments, tensors);
  contract.layout = Layout::bsh;
  contract.q_num_heads = arguments.head_count("num_heads");
  contract.kv_num_heads = contract.q_num_heads;
  contract.scale = read_scale(arguments);
  contract.causal = arguments.integer("unidirectional", 0, 0, 1) == 1;
  // The diagonal starts behind the past, also where there are more keys than queries.
  contract.causal_alignment = CausalAlignment::onnx;
  contract.stated.causal_alignment = true;
  arguments.number("mask_filter_value");  // only for key_padding_mask, which is refused
  return recording;
}

}  // namespace gqa
