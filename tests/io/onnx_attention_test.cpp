// From ONNX's Attention to the contract: every rule, and what is refused, with its place.
#include <doctest/doctest.h>

#include <cmath>

#include "io/onnx_binding_support.hpp"

using namespace gqa;
using namespace gqa::test;

namespace {

ModelText attention(std::int64_t opset, const std::string& attributes = "") {
  ModelText text;
  text.opset = opset;
  text.attributes = attributes;
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
