// Every rule of the ONNX model reader with its exact code and place.
#include "gqa/io/onnx_model.hpp"

#include <doctest/doctest.h>

#include "io/io_support.hpp"
#include "io/onnx_support.hpp"

using namespace gqa;
using namespace gqa::test;

namespace {

OnnxModel parsed_model(const std::string& message) {
  return parse_onnx_model(to_bytes(message), "f");
}

void check_model_refused(const std::string& message, const std::string& code,
                         const std::string& where, const std::string& text = "") {
  check_error([&] { parsed_model(message); }, code, where, text);
}

std::string float_tensor(const std::string& name) {
  return pb::tensor({}, 1, pb::bytes(8, name) + pb::binary32(4, 1));
}

}  // namespace

TEST_CASE("onnx model: node, attributes, operator sets and names are read") {
  ModelText text;
  text.attributes = int_attribute("is_causal", 1) + int_attribute("left", -1) +
                    float_attribute("scale", 0.5F) + text_attribute("kind", "NONE");
  text.inputs = {"Q", "K", "V", ""};
  const OnnxModel model = parsed_model(text.bytes());
  CHECK(model.operator_sets == std::map<std::string, std::int64_t>{{"", 23}});
  CHECK(model.node.operator_name == "Attention");
  CHECK(model.node.domain.empty());
  CHECK(model.node.inputs == std::vector<std::string>{"Q", "K", "V", ""});
  CHECK(model.inputs == std::vector<std::string>{"Q", "K", "V"});
  CHECK(model.outputs == std::vector<std::string>{"Y"});
  CHECK(model.node.attributes ==
        std::map<std::string, OnnxAttribute>{{"is_causal", std::int64_t{1}},
                                             {"left", std::int64_t{-1}},
                                             {"scale", 0.5F},
                                             {"kind", std::string("NONE")}});
}

TEST_CASE("onnx model: ai.onnx is ONNX's own domain, and a zero attribute may be left out") {
  ModelText text;
  text.domain = "ai.onnx";
  text.attributes = pb::bytes(5, pb::bytes(1, "is_causal") + pb::integer(20, 2));
  const OnnxModel model = parsed_model(text.bytes());
  CHECK(model.node.domain.empty());
  CHECK(model.operator_sets.contains(""));
  CHECK(model.node.attributes.at("is_causal") == OnnxAttribute(std::int64_t{0}));
}

TEST_CASE("onnx model: an initializer is a value that no data set gives") {
  ModelText text;
  text.more_graph = pb::bytes(5, float_tensor("V"));
  const OnnxModel model = parsed_model(text.bytes());
  CHECK(model.inputs == std::vector<std::string>{"Q", "K"});
  CHECK(decode(*model.initializers.at("V")).data() == std::vector<double>{1});
  text.more_graph += pb::bytes(5, float_tensor("V"));
  check_model_refused(text.bytes(), "onnx.duplicate_name", "f: graph: initializer V", "at byte");
  text.more_graph = pb::bytes(5, float_tensor(""));
  check_model_refused(text.bytes(), "onnx.missing_field", "f: graph: initializer");
  text.more_graph = pb::bytes(5, pb::tensor({1}, 1, ""));
  check_model_refused(text.bytes(), "onnx.size_mismatch", "f: graph: initializer");
}

TEST_CASE("onnx model: exactly one graph with exactly one node is read") {
  check_model_refused("", "onnx.missing_field", "f: graph");
  check_model_refused(pb::bytes(7, ""), "onnx.node_count", "f: graph: node", "no node");
  ModelText text;
  text.more_graph = pb::bytes(1, pb::bytes(4, "Add"));
  check_model_refused(text.bytes(), "onnx.node_count", "f: graph: node", "at byte");
  const std::string good = ModelText().bytes();
  check_model_refused(good + pb::bytes(7, ""), "onnx.duplicate_field", "f: graph",
                      "at byte " + std::to_string(good.size()));
}

TEST_CASE("onnx model: names are there, once, and connected") {
  ModelText text;
  text.more_graph = pb::bytes(11, pb::bytes(1, "extra"));
  check_model_refused(text.bytes(), "onnx.unused_input", "f: graph: input extra");
  text.more_graph = pb::bytes(11, pb::bytes(1, "Q"));
  check_model_refused(text.bytes(), "onnx.duplicate_name", "f: graph: input Q");
  text.more_graph = pb::bytes(11, "");
  check_model_refused(text.bytes(), "onnx.missing_field", "f: graph: input: name");
  text.more_graph = pb::bytes(12, pb::bytes(1, "Z"));
  check_model_refused(text.bytes(), "onnx.unknown_value", "f: graph: output Z");
  text.more_graph = pb::bytes(12, pb::bytes(1, "Y"));
  check_model_refused(text.bytes(), "onnx.duplicate_name", "f: graph: output Y");
  text.more_graph.clear();
  text.more_node = pb::bytes(1, "nowhere");
  check_model_refused(text.bytes(), "onnx.unknown_value", "f: graph: node: input", "nowhere");
  text.more_node = pb::bytes(2, "Y");
  check_model_refused(text.bytes(), "onnx.unknown_value", "f: graph: output Y", "once");
  text.more_node.clear();
  text.operator_name.clear();
  check_model_refused(text.bytes(), "onnx.missing_field", "f: graph: node: op_type");
  check_model_refused(ModelText().bytes() + ModelText().operator_set(), "onnx.duplicate_name",
                      "f: opset_import");
}

TEST_CASE("onnx model: attributes have a name, one value and a type that fits it") {
  const auto refused = [](const std::string& attribute, const std::string& code,
                          const std::string& where) {
    ModelText text;
    text.attributes = attribute;
    check_model_refused(text.bytes(), code, "f: graph: node: " + where);
  };
  const std::string name = pb::bytes(1, "a");
  refused(int_attribute("a", 1) + int_attribute("a", 1), "onnx.duplicate_name", "attribute a");
  refused(int_attribute("", 1), "onnx.missing_field", "attribute: name");
  for (const std::string& value :
       {pb::integer(3, 1), pb::integer(3, 1) + pb::integer(20, 1),
        pb::binary32(2, 1) + pb::integer(20, 2), pb::bytes(4, "x") + pb::integer(20, 2),
        pb::integer(3, 1) + pb::binary32(2, 1) + pb::integer(20, 2), pb::integer(20, 7)}) {
    refused(pb::bytes(5, name + value), "onnx.attribute_type", "attribute: a");
  }
  for (const unsigned field : {5U, 6U, 7U, 8U, 9U, 21U, 99U}) {
    refused(pb::bytes(5, name + pb::bytes(field, "")), "onnx.attribute_type", "attribute");
  }
  refused(pb::bytes(5, name + name), "onnx.duplicate_field", "attribute: name");
  refused(pb::bytes(5, name + pb::integer(2, 1)), "onnx.wire_type", "attribute: f");
}

TEST_CASE("onnx model: functions, sparse tensors and unknown fields are refused") {
  ModelText text;
  text.more_model = pb::bytes(25, "");
  check_model_refused(text.bytes(), "onnx.unsupported_field", "f", "functions");
  text.more_model = pb::bytes(99, "");
  check_model_refused(text.bytes(), "onnx.unknown_field", "f", "field number 99");
  text.more_model = pb::bytes(14, "") + pb::bytes(2, "producer") + pb::bytes(6, "doc");
  CHECK(parsed_model(text.bytes()).node.operator_name == "Attention");
  text.more_graph = pb::bytes(15, "");
  check_model_refused(text.bytes(), "onnx.unsupported_field", "f: graph", "sparse");
  text.more_graph = pb::bytes(99, "");
  check_model_refused(text.bytes(), "onnx.unknown_field", "f: graph");
  text.more_graph.clear();
  text.more_node = pb::bytes(8, "overload");
  check_model_refused(text.bytes(), "onnx.unknown_field", "f: graph: node");
}

TEST_CASE("onnx model: any damaged message gives an error of the reader or another model") {
  ModelText text;
  text.attributes = int_attribute("is_causal", 1) + float_attribute("scale", 0.5F);
  text.more_graph = pb::bytes(5, float_tensor("V"));
  const std::string good = text.bytes();
  for (std::size_t i = 0; i < good.size(); ++i) {
    CAPTURE(i);
    const InputError cut = error_of([&] { parsed_model(good.substr(0, i)); });
    CHECK((cut.code() == "none" || cut.code().starts_with("onnx.")));
    for (int flip = 1; flip < 256; ++flip) {
      CAPTURE(flip);
      std::string damaged = good;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      const InputError error = error_of([&] { parsed_model(damaged); });
      CHECK((error.code() == "none" || error.code().starts_with("onnx.")));
    }
  }
}
