// From ONNX Runtime's operators to the contract: what maps onto it, and what is refused.
#include <doctest/doctest.h>

#include "io/onnx_binding_support.hpp"

using namespace gqa;
using namespace gqa::test;

namespace {

ModelText group_query_attention(const std::string& attributes = "") {
  ModelText text;
  text.operator_name = "GroupQueryAttention";
  text.domain = "com.microsoft";
  text.opset = 1;
  text.inputs = {"Q", "K", "V", "past_key", "past_value", "seqlens_k", "total"};
  text.outputs = {"Y", "present_key", "present_value"};
  text.attributes = int_attribute("num_heads", 4) + int_attribute("kv_num_heads", 2) + attributes;
  return text;
}

ModelText multi_head_attention(const std::string& attributes = "") {
  ModelText text;
  text.operator_name = "MultiHeadAttention";
  text.domain = "com.microsoft";
  text.opset = 1;
  text.inputs = {"Q", "K", "V", "", "", "bias", "past_key", "past_value"};
  text.outputs = {"Y", "present_key", "present_value"};
  text.attributes = int_attribute("num_heads", 4) + attributes;
  return text;
}

}  // namespace

TEST_CASE("GroupQueryAttention: causal at the bottom right, windows count the own key") {
  const Recording plain = recording_of(group_query_attention(), rank3_values());
  CHECK(plain.contract.layout == Layout::bsh);
  CHECK(plain.contract.causal);
  CHECK(plain.contract.causal_alignment == CausalAlignment::bottom_right);
  CHECK(plain.contract.window == Window{-1, -1});
  CHECK_FALSE(plain.contract.scale);
  CHECK_FALSE(plain.tensors.sink);
  CHECK(plain.tensors.past_key->shape == Shape{2, 2, 6, 8});
  CHECK(plain.tensors.present_value->shape == Shape{2, 2, 11, 8});
  const Contract set = recording_of(group_query_attention(int_attribute("local_window_size", 6) +
                                                          float_attribute("scale", 0.375F) +
                                                          float_attribute("softcap", 2.5F)),
                                    rank3_values())
                           .contract;
  CHECK(set.window == Window{5, 0});
  CHECK(*set.scale == make_rational(3, 8));
  CHECK(set.softcap == make_rational(5, 2));
  CHECK_FALSE(recording_of(group_query_attention(int_attribute("causal", 0)), rank3_values())
                  .contract.causal);
  CHECK_FALSE(recording_of(group_query_attention(float_attribute("scale", 0)), rank3_values())
                  .contract.scale);
}

TEST_CASE(
    "GroupQueryAttention: biases and sinks are inputs 10 and 11, smooth softmax a zero sink") {
  ModelText text = group_query_attention();
  text.inputs.insert(text.inputs.end(), {"", "", "", "bias", "sink"});
  const OnnxValues values = rank3_values();
  const ProblemTensors tensors = recording_of(text, values).tensors;
  CHECK(tensors.attn_mask == values.at("bias"));
  CHECK(tensors.sink == values.at("sink"));
  const Recording smooth =
      recording_of(group_query_attention(int_attribute("smooth_softmax", 1)), rank3_values());
  REQUIRE(smooth.tensors.sink);
  CHECK(decode(*smooth.tensors.sink).data() == std::vector<double>(4, 0.0));
  text.attributes += int_attribute("smooth_softmax", 1);
  check_refused(text, values, "onnx.attribute_value",
                "f: node GroupQueryAttention: attribute smooth_softmax");
}

TEST_CASE("GroupQueryAttention: what does not map onto the contract is refused") {
  const std::string place = "f: node GroupQueryAttention: ";
  const auto refused = [&](const std::string& attribute, const std::string& name) {
    check_refused(group_query_attention(attribute), rank3_values(), "onnx.attribute_value",
                  place + "attribute " + name);
  };
  refused(int_attribute("do_rotary", 1), "do_rotary");
  refused(int_attribute("sliding_window_cache", 1), "sliding_window_cache");
  refused(int_attribute("qk_output", 1), "qk_output");
  refused(int_attribute("local_window_size", 0), "local_window_size");
  refused(int_attribute("local_window_size", 4) + int_attribute("causal", 0), "local_window_size");
  refused(text_attribute("k_quant_type", "PER_TENSOR"), "k_quant_type");
  ModelText packed = group_query_attention();
  packed.inputs[1] = packed.inputs[2] = "";
  check_refused(packed, rank3_values(), "onnx.packed_inputs", place + "input 0");
  OnnxValues values = rank3_values();
  values["seqlens_k"] = int32_tensor({10, 9});
  check_refused(group_query_attention(), values, "onnx.ragged_batch", place + "input 5");
  values = rank3_values();
  values["total"] = int32_tensor({12});
  check_refused(group_query_attention(), values, "onnx.ragged_batch", place + "input 6");
  check_refused(group_query_attention(), rank4_values(), "onnx.rank", place + "inputs 0 to 2");
  ModelText rotary = group_query_attention();
  rotary.inputs.emplace_back("bias");
  check_refused(rotary, rank3_values(), "onnx.unsupported_input", place + "input 7");
}

TEST_CASE("MultiHeadAttention: the diagonal starts behind the past") {
  const OnnxValues values = rank3_values();
  const Recording recording =
      recording_of(multi_head_attention(int_attribute("unidirectional", 1)), values);
  CHECK(recording.contract.causal);
  CHECK(recording.contract.causal_alignment == CausalAlignment::onnx);
  CHECK(recording.contract.q_num_heads == 4);
  CHECK(recording.contract.kv_num_heads == 4);
  CHECK(recording.tensors.attn_mask == values.at("bias"));
  CHECK(recording.tensors.past_key == values.at("past_key"));
  CHECK(recording.tensors.present_key == values.at("present_key"));
  CHECK_FALSE(recording_of(multi_head_attention(), values).contract.causal);
}

TEST_CASE("MultiHeadAttention: projection biases, padding masks and buffers are refused") {
  const std::string place = "f: node MultiHeadAttention: ";
  for (const std::size_t position : {3U, 4U}) {
    ModelText text = multi_head_attention();
    text.inputs[position] = "sink";
    check_refused(text, rank3_values(), "onnx.unsupported_input",
                  place + "input " + std::to_string(position));
  }
  ModelText shared = multi_head_attention();
  shared.inputs.emplace_back("total");
  check_refused(shared, rank3_values(), "onnx.unsupported_input", place + "input 8");
  check_refused(multi_head_attention(float_attribute("softcap", 1)), rank3_values(),
                "onnx.unsupported_attribute", place + "attribute softcap");
}

TEST_CASE("GroupQueryAttention: heads beyond the query's columns are refused before room is made") {
  ModelText text = group_query_attention();
  text.attributes = int_attribute("num_heads", 2147483647) + int_attribute("kv_num_heads", 1) +
                    int_attribute("smooth_softmax", 1);
  CHECK(refusal_of([&] { recording_of(text, rank3_values()); }).starts_with("onnx.heads_mismatch"));
}
