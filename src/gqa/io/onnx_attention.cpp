#include "gqa/io/onnx_attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "gqa/error.hpp"
#include "gqa/io/json.hpp"
#include "gqa/io/onnx_arguments.hpp"
#include "gqa/io/onnx_contrib.hpp"

namespace gqa {
namespace {

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

std::int64_t opset_of(const OnnxModel& model, std::int64_t oldest, std::int64_t newest,
                      const std::string& where) {
  const auto entry = model.operator_sets.find(model.node.domain);
  const std::string place = fmt::format("{}: opset_import", where);
  if (entry == model.operator_sets.end()) {
    throw InputError("onnx.unsupported_opset", place,
                     fmt::format("domain \"{}\" is not imported", printable(model.node.domain)));
  }
  if (entry->second < oldest || entry->second > newest) {
    throw InputError("onnx.unsupported_opset", place,
                     fmt::format("version {} of domain \"{}\"; {} to {} are known", entry->second,
                                 printable(model.node.domain), oldest, newest));
  }
  return entry->second;
}

// Rank 3 has the heads folded into the last axis, rank 4 has them in axis 1.
void read_layout(OnnxArguments& arguments, const ProblemTensors& tensors, Contract& contract) {
  const std::size_t rank = tensors.query->shape.size();
  if ((rank != 3 && rank != 4) || tensors.key->shape.size() != rank ||
      tensors.value->shape.size() != rank) {
    arguments.fail("onnx.rank", "inputs 0 to 2",
                   fmt::format("query {}, key {} and value {} must all have 3 or all have 4 axes",
                               to_text(tensors.query->shape), to_text(tensors.key->shape),
                               to_text(tensors.value->shape)));
  }
  if (rank == 3) {
    contract.layout = Layout::bsh;
    contract.q_num_heads = arguments.head_count("q_num_heads");
    contract.kv_num_heads = arguments.head_count("kv_num_heads");
    return;
  }
  contract.layout = Layout::bhsd;
  const auto check = [&arguments](const char* name, std::int64_t heads) {
    const auto declared = arguments.integer(name);
    if (declared && *declared != heads) {
      arguments.fail("onnx.heads_mismatch", fmt::format("attribute {}", name),
                     fmt::format("is {}, the tensor has {} heads", *declared, heads));
    }
  };
  check("q_num_heads", tensors.query->shape[1]);
  check("kv_num_heads", tensors.key->shape[1]);
}

void read_rules(OnnxArguments& arguments, std::int64_t opset, Contract& contract) {
  contract.dialect = "onnx";
  contract.causal_alignment = CausalAlignment::onnx;
  contract.causal = arguments.integer("is_causal", 0, 0, 1) == 1;
  contract.scale = arguments.number("scale");
  contract.softcap = arguments.number("softcap").value_or(Rational(0));
  if (opset >= 25) {
    contract.window.left = arguments.integer("left_window_size", -1, -1, no_limit);
    contract.window.right = arguments.integer("right_window_size", -1, -1, no_limit);
  }
  const auto precision = arguments.integer("softmax_precision");
  constexpr std::array<std::int64_t, 4> float_types{1, 10, 11, 16};
  if (precision && std::count(float_types.begin(), float_types.end(), *precision) == 0) {
    arguments.fail("onnx.attribute_value", "attribute softmax_precision",
                   fmt::format("is {}; expected FLOAT (1), FLOAT16 (10), DOUBLE (11) or "
                               "BFLOAT16 (16)",
                               *precision));
  }
}

Recording bind_attention(OnnxArguments& arguments, std::int64_t opset) {
  Recording recording;
  ProblemTensors& tensors = recording.tensors;
  tensors.query = arguments.required_input(0, "Q");
  tensors.key = arguments.required_input(1, "K");
  tensors.value = arguments.required_input(2, "V");
  tensors.attn_mask = arguments.input(3);
  tensors.past_key = arguments.input(4);
  tensors.past_value = arguments.input(5);
  if (opset >= 24) tensors.nonpad_kv_seqlen = arguments.input(6);
  tensors.output = arguments.output(0);
  tensors.present_key = arguments.output(1);
  tensors.present_value = arguments.output(2);
  tensors.qk_matmul_output = arguments.output(3);
  tensors.qk_matmul_output_mode =
      static_cast<int>(arguments.integer("qk_matmul_output_mode", 0, 0, 3));
  read_layout(arguments, tensors, recording.contract);
  read_rules(arguments, opset, recording.contract);
  return recording;
}

Recording bind_node(const OnnxModel& model, OnnxArguments& arguments, const std::string& where) {
  const OnnxNode& node = model.node;
  if (node.domain.empty() && node.operator_name == "Attention") {
    return bind_attention(arguments, opset_of(model, 23, 25, where));
  }
  if (node.domain == "com.microsoft" && node.operator_name == "GroupQueryAttention") {
    opset_of(model, 1, 1, where);
    return bind_group_query_attention(arguments);
  }
  if (node.domain == "com.microsoft" && node.operator_name == "MultiHeadAttention") {
    opset_of(model, 1, 1, where);
    return bind_multi_head_attention(arguments);
  }
  throw InputError("onnx.unsupported_operator", where + ": node",
                   fmt::format("\"{}\" of domain \"{}\" is not Attention, nor GroupQueryAttention "
                               "or MultiHeadAttention of com.microsoft",
                               printable(node.operator_name), printable(node.domain)));
}

}  // namespace

Recording bind_onnx_attention(const OnnxModel& model, const OnnxValues& recorded,
                              const std::string& where) {
  OnnxValues values = recorded;
  values.insert(model.initializers.begin(), model.initializers.end());
  OnnxArguments arguments(model, values, where);
  Recording recording = bind_node(model, arguments, where);
  arguments.finish();
  try {
    validate(recording.contract);
  } catch (const InputError& error) {
    throw error.within(fmt::format("{}: node {}", where, printable(model.node.operator_name)));
  }
  return recording;
}

}  // namespace gqa
