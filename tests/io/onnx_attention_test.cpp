// From ONNX nodes to contracts: every operator's rules and what is refused, with its place.
#include "gqa/io/onnx_attention.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "io/io_support.hpp"
#include "io/onnx_support.hpp"

using namespace gqa;
using namespace gqa::test;

namespace {

std::shared_ptr<const TypedTensor> tensor(Shape shape, ElementType type = ElementType::binary32) {
  const auto count = static_cast<std::size_t>(element_count(shape));
  return std::make_shared<const TypedTensor>(
      TypedTensor{type, std::move(shape), std::vector<std::byte>(count * element_size(type))});
}

std::shared_ptr<const TypedTensor> int32_tensor(std::initializer_list<std::int32_t> values) {
  TypedTensor result{ElementType::int32, {static_cast<std::int64_t>(values.size())}, {}};
  for (const std::int32_t value : values) {
    const auto bytes = to_bytes(little_endian(static_cast<std::uint32_t>(value), 4));
    result.bytes.insert(result.bytes.end(), bytes.begin(), bytes.end());
  }
  return std::make_shared<const TypedTensor>(std::move(result));
}

const std::vector<std::string> attention_inputs{"Q",        "K",          "V",      "mask",
                                                "past_key", "past_value", "lengths"};

// B=2, Hq=4, Hkv=2, T=3, S=5, P=6, d=8.
OnnxValues rank4_values() {
  return {{"Q", tensor({2, 4, 3, 8})},
          {"K", tensor({2, 2, 5, 8})},
          {"V", tensor({2, 2, 5, 8})},
          {"mask", tensor({3, 5})},
          {"past_key", tensor({2, 2, 6, 8})},
          {"past_value", tensor({2, 2, 6, 8})},
          {"lengths", tensor({2}, ElementType::int64)},
          {"Y", tensor({2, 4, 3, 8})},
          {"present_key", tensor({2, 2, 11, 8})},
          {"present_value", tensor({2, 2, 11, 8})},
          {"qk", tensor({2, 4, 3, 11})}};
}

// The same with the heads folded into the last axis; T = S = 5 for GroupQueryAttention.
OnnxValues rank3_values() {
  OnnxValues values = rank4_values();
  values["Q"] = tensor({2, 5, 32});
  values["K"] = tensor({2, 5, 16});
  values["V"] = tensor({2, 5, 16});
  values["Y"] = tensor({2, 5, 32});
  values["seqlens_k"] = int32_tensor({10, 10});
  values["total"] = int32_tensor({11});
  values["sink"] = tensor({4});
  values["bias"] = tensor({1, 1, 5, 11});
  return values;
}

Recording recording_of(const ModelText& text, const OnnxValues& values) {
  return bind_onnx_attention(parse_onnx_model(to_bytes(text.bytes()), "f"), values, "f");
}

void check_refused(const ModelText& text, const OnnxValues& values, const std::string& code,
                   const std::string& where) {
  const InputError error = error_of([&] { recording_of(text, values); });
  CAPTURE(error.what());
  CHECK(error.code() == code);
  CHECK(error.where() == where);
}

ModelText attention(std::int64_t opset, const std::string& attributes = "") {
  ModelText text;
  text.opset = opset;
  text.attributes = attributes;
  return text;
}

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

TEST_CASE("onnx attention: without attributes it is the plain operator with ONNX's alignment") {
  const Contract contract = recording_of(attention(23), rank4_values()).contract;
  CHECK(contract.layout == Layout::bhsd);
  CHECK(contract.head_map == HeadMap{});
  CHECK_FALSE(contract.scale);
  CHECK_FALSE(contract.causal);
  CHECK(contract.causal_alignment == CausalAlignment::onnx);
  CHECK(contract.window == Window{-1, -1});
  CHECK(contract.softcap == 0);
  CHECK(contract.empty_row == EmptyRow::zero);
  CHECK(contract.dialect == "onnx");
}

TEST_CASE("onnx attention: every attribute of opset 25 reaches the contract, exactly") {
  const std::string attributes =
      int_attribute("is_causal", 1) + float_attribute("scale", 0.01F) +
      float_attribute("softcap", 2.5F) + int_attribute("left_window_size", 7) +
      int_attribute("right_window_size", 0) + int_attribute("q_num_heads", 4) +
      int_attribute("kv_num_heads", 2) + int_attribute("softmax_precision", 11) +
      int_attribute("qk_matmul_output_mode", 2);
  const Recording recording = recording_of(attention(25, attributes), rank4_values());
  CHECK(recording.contract.causal);
  // 0.01 rounded to binary32, not 1/100.
  CHECK(*recording.contract.scale == make_rational(5368709, 536870912));
  CHECK(recording.contract.softcap == make_rational(5, 2));
  CHECK(recording.contract.window == Window{7, 0});
  CHECK(recording.tensors.qk_matmul_output_mode == 2);
}

TEST_CASE("onnx attention: inputs and outputs go by position, whatever they are called") {
  ModelText text = attention(24);
  text.inputs = attention_inputs;
  text.outputs = {"Y", "present_key", "present_value", "qk"};
  const OnnxValues values = rank4_values();
  const ProblemTensors tensors = recording_of(text, values).tensors;
  CHECK(tensors.query == values.at("Q"));
  CHECK(tensors.key == values.at("K"));
  CHECK(tensors.value == values.at("V"));
  CHECK(tensors.attn_mask == values.at("mask"));
  CHECK(tensors.past_key == values.at("past_key"));
  CHECK(tensors.past_value == values.at("past_value"));
  CHECK(tensors.nonpad_kv_seqlen == values.at("lengths"));
  CHECK(tensors.output == values.at("Y"));
  CHECK(tensors.present_key == values.at("present_key"));
  CHECK(tensors.present_value == values.at("present_value"));
  CHECK(tensors.qk_matmul_output == values.at("qk"));
  text.inputs = {"V", "K", "Q", "", "", "", "lengths"};
  text.outputs = {"present_key", "", "", "Y"};
  const ProblemTensors swapped = recording_of(text, values).tensors;
  CHECK(swapped.query == values.at("V"));
  CHECK(swapped.value == values.at("Q"));
  CHECK_FALSE(swapped.attn_mask);
  CHECK_FALSE(swapped.present_key);
  CHECK(swapped.output == values.at("present_key"));
  CHECK(swapped.qk_matmul_output == values.at("Y"));
}

TEST_CASE("onnx attention: rank 3 is layout BSH and needs both head counts") {
  const std::string q = int_attribute("q_num_heads", 4);
  const std::string kv = int_attribute("kv_num_heads", 2);
  const Contract contract = recording_of(attention(23, q + kv), rank3_values()).contract;
  CHECK(contract.layout == Layout::bsh);
  CHECK(contract.q_num_heads == 4);
  CHECK(contract.kv_num_heads == 2);
  const std::string place = "f: node Attention: attribute ";
  check_refused(attention(23, kv), rank3_values(), "onnx.missing_attribute", place + "q_num_heads");
  check_refused(attention(23, q), rank3_values(), "onnx.missing_attribute", place + "kv_num_heads");
  check_refused(attention(23, q + int_attribute("kv_num_heads", 0)), rank3_values(),
                "onnx.attribute_value", place + "kv_num_heads");
  check_refused(attention(23, kv), rank4_values(), "none", "");
  check_refused(attention(23, int_attribute("kv_num_heads", 4)), rank4_values(),
                "onnx.heads_mismatch", place + "kv_num_heads");
  OnnxValues mixed = rank4_values();
  mixed["K"] = tensor({2, 5, 16});
  check_refused(attention(23), mixed, "onnx.rank", "f: node Attention: inputs 0 to 2");
  mixed["Q"] = mixed["V"] = mixed["K"] = tensor({2, 5});
  check_refused(attention(23), mixed, "onnx.rank", "f: node Attention: inputs 0 to 2");
}

TEST_CASE("onnx attention: what an opset does not have is refused") {
  const std::string place = "f: node Attention: ";
  for (const char* name : {"left_window_size", "right_window_size"}) {
    check_refused(attention(24, int_attribute(name, 1)), rank4_values(),
                  "onnx.unsupported_attribute", place + "attribute " + name);
  }
  ModelText text = attention(23);
  text.inputs = attention_inputs;
  check_refused(text, rank4_values(), "onnx.unsupported_input", place + "input 6");
  text.opset = 24;
  check_refused(text, rank4_values(), "none", "");
  text.inputs.push_back("qk");
  check_refused(text, rank4_values(), "onnx.unsupported_input", place + "input 7");
  text = attention(23);
  text.outputs = {"Y", "", "", "", "qk"};
  check_refused(text, rank4_values(), "onnx.unsupported_output", place + "output 4");
  for (const std::int64_t opset : {22, 26}) {
    check_refused(attention(opset), rank4_values(), "onnx.unsupported_opset", "f: opset_import");
  }
}

TEST_CASE("onnx attention: attribute values outside their range are refused") {
  const auto refused = [](const std::string& attribute, const std::string& code,
                          const std::string& name) {
    check_refused(attention(25, attribute), rank4_values(), code, "f: node Attention: " + name);
  };
  const std::string value = "onnx.attribute_value";
  refused(int_attribute("is_causal", 2), value, "attribute is_causal");
  refused(int_attribute("is_causal", -1), value, "attribute is_causal");
  refused(int_attribute("qk_matmul_output_mode", 4), value, "attribute qk_matmul_output_mode");
  refused(int_attribute("left_window_size", -2), value, "attribute left_window_size");
  refused(int_attribute("softmax_precision", 7), value, "attribute softmax_precision");
  refused(float_attribute("scale", INFINITY), value, "attribute scale");
  refused(float_attribute("softcap", NAN), value, "attribute softcap");
  refused(float_attribute("scale", 0), "contract.scale_not_positive", "scale");
  refused(float_attribute("softcap", -1), "contract.softcap_negative", "softcap");
  refused(float_attribute("is_causal", 1), "onnx.attribute_type", "attribute is_causal");
  refused(int_attribute("scale", 1), "onnx.attribute_type", "attribute scale");
  refused(int_attribute("causal", 1), "onnx.unsupported_attribute", "attribute causal");
}

TEST_CASE("onnx attention: operators and domains that are not attention are refused by name") {
  ModelText text;
  text.operator_name = "FlexAttention";
  check_refused(text, rank4_values(), "onnx.unsupported_operator", "f: node");
  text.operator_name = "Attention";
  text.domain = "com.microsoft";
  check_refused(text, rank4_values(), "onnx.unsupported_operator", "f: node");
  text.operator_name = "GroupQueryAttention";
  text.opset = 2;
  check_refused(text, rank4_values(), "onnx.unsupported_opset", "f: opset_import");
  OnnxModel model = parse_onnx_model(to_bytes(attention(23).bytes()), "f");
  model.operator_sets.clear();
  const InputError error = error_of([&] { bind_onnx_attention(model, rank4_values(), "f"); });
  CHECK(error.code() == "onnx.unsupported_opset");
}

TEST_CASE("onnx attention: a needed tensor that is left out or not recorded is refused") {
  ModelText text;
  text.inputs = {"Q", "", "V"};
  check_refused(text, rank4_values(), "onnx.missing_input", "f: node Attention: input 1");
  OnnxValues values = rank4_values();
  values.erase("V");
  check_refused(attention(23), values, "onnx.missing_input", "f: node Attention: input 2");
}

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
