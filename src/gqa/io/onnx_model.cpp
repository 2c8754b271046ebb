#include "gqa/io/onnx_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "gqa/error.hpp"
#include "gqa/io/file.hpp"
#include "gqa/io/json.hpp"
#include "gqa/io/onnx_tensor.hpp"
#include "gqa/io/protobuf_reader.hpp"

namespace gqa {
namespace {

std::string plain_domain(const std::string& domain) {
  return domain == "ai.onnx" ? "" : domain;
}

struct AttributeFields {
  std::string name;
  std::optional<std::int64_t> type;
  std::optional<float> number;
  std::optional<std::int64_t> integer;
  std::optional<std::string> text;
};

AttributeFields read_attribute_fields(ProtobufReader& message) {
  AttributeFields fields;
  while (message.next()) {
    switch (message.field()) {
      case 1:
        fields.name = message.text("name");
        break;
      case 2:
        fields.number = message.binary32("f");
        break;
      case 3:
        fields.integer = message.integer("i");
        break;
      case 4:
        fields.text = message.text("s");
        break;
      case 13:  // doc_string
        message.skip();
        break;
      case 20:
        fields.type = message.integer("type");
        break;
      default:
        message.fail("onnx.attribute_type", "",
                     fmt::format("field number {} belongs to no INT, FLOAT or STRING attribute",
                                 message.field()));
    }
  }
  return fields;
}

std::pair<std::string, OnnxAttribute> read_attribute(ProtobufReader message) {
  AttributeFields fields = read_attribute_fields(message);
  const std::string where = message.where(printable(fields.name));
  if (fields.name.empty()) {
    throw InputError("onnx.missing_field", message.where("name"), "the attribute has no name");
  }
  const auto fits = [&fields](bool number, bool integer, bool text) {
    return fields.number.has_value() <= number && fields.integer.has_value() <= integer &&
           fields.text.has_value() <= text;
  };
  // A zero may be left out: writers of proto3 do.
  if (fields.type == 1 && fits(true, false, false)) return {fields.name, fields.number.value_or(0)};
  if (fields.type == 2 && fits(false, true, false))
    return {fields.name, fields.integer.value_or(0)};
  if (fields.type == 3 && fits(false, false, true)) {
    return {fields.name, std::move(fields.text).value_or("")};
  }
  throw InputError("onnx.attribute_type", where,
                   fmt::format("type {} with the values it holds is not FLOAT (1), INT (2) or "
                               "STRING (3)",
                               fields.type ? std::to_string(*fields.type) : "missing"));
}

OnnxNode read_node(ProtobufReader message) {
  OnnxNode node;
  while (message.next()) {
    switch (message.field()) {
      case 1:
        node.inputs.push_back(message.text_element("input"));
        break;
      case 2:
        node.outputs.push_back(message.text_element("output"));
        break;
      case 4:
        node.operator_name = message.text("op_type");
        break;
      case 5: {
        auto [name, attribute] = read_attribute(message.message_element("attribute"));
        if (!node.attributes.emplace(name, std::move(attribute)).second) {
          message.fail("onnx.duplicate_name", "attribute " + printable(name),
                       "the attribute is given twice");
        }
        break;
      }
      case 7:
        node.domain = plain_domain(message.text("domain"));
        break;
      case 3:   // name
      case 6:   // doc_string
      case 9:   // metadata_props
      case 10:  // device_configurations
        message.skip();
        break;
      default:
        message.fail_unknown();
    }
  }
  if (node.operator_name.empty()) {
    throw InputError("onnx.missing_field", message.where("op_type"), "the node has no operator");
  }
  return node;
}

// The name of a graph's input or output; its declared type is left to the tensors.
std::string read_value_name(ProtobufReader message) {
  std::string name;
  while (message.next()) {
    if (message.field() == 1) {
      name = message.text("name");
    } else {
      message.skip();
    }
  }
  if (name.empty()) {
    throw InputError("onnx.missing_field", message.where("name"), "the value has no name");
  }
  return name;
}

void add_name(std::vector<std::string>& names, std::string name, const ProtobufReader& message,
              const char* field) {
  if (std::find(names.begin(), names.end(), name) != names.end()) {
    message.fail("onnx.duplicate_name", fmt::format("{} {}", field, printable(name)),
                 "the graph has the name twice");
  }
  names.push_back(std::move(name));
}

void add_initializer(OnnxModel& model, const ProtobufReader& message, OnnxTensor read) {
  if (read.name.empty()) message.fail("onnx.missing_field", "initializer", "it has no name");
  auto tensor = std::make_shared<const TypedTensor>(std::move(read.tensor));
  if (!model.initializers.emplace(read.name, std::move(tensor)).second) {
    message.fail("onnx.duplicate_name", "initializer " + printable(read.name),
                 "the graph has the name twice");
  }
}

void read_graph(ProtobufReader message, OnnxModel& model) {
  std::size_t nodes = 0;
  while (message.next()) {
    switch (message.field()) {
      case 1:
        if (++nodes > 1) message.fail("onnx.node_count", "node", "a second node; one is expected");
        model.node = read_node(message.message_element("node"));
        break;
      case 5:
        add_initializer(model, message, parse_onnx_tensor(message.message_element("initializer")));
        break;
      case 11:
        add_name(model.inputs, read_value_name(message.message_element("input")), message, "input");
        break;
      case 12:
        add_name(model.outputs, read_value_name(message.message_element("output")), message,
                 "output");
        break;
      case 2:   // name
      case 10:  // doc_string
      case 13:  // value_info
      case 16:  // metadata_props
        message.skip();
        break;
      case 14:
      case 15:
        message.fail("onnx.unsupported_field", "",
                     "quantization annotations and sparse initializers are not supported");
      default:
        message.fail_unknown();
    }
  }
  if (nodes == 0) {
    throw InputError("onnx.node_count", message.where("node"), "the graph has no node");
  }
}

void read_operator_set(ProtobufReader message, OnnxModel& model) {
  std::string domain;
  std::int64_t version = 0;
  while (message.next()) {
    if (message.field() == 1) {
      domain = plain_domain(message.text("domain"));
    } else if (message.field() == 2) {
      version = message.integer("version");
    } else {
      message.fail_unknown();
    }
  }
  if (!model.operator_sets.emplace(domain, version).second) {
    throw InputError("onnx.duplicate_name", message.where(),
                     fmt::format("domain \"{}\" is imported twice", printable(domain)));
  }
}

// Every value that the node reads, and that the graph gives, must come from somewhere.
void check_values(OnnxModel& model, const std::string& where) {
  std::set<std::string> known;
  for (const auto& [name, tensor] : model.initializers) known.insert(name);
  // Before IR version 4 an initializer had to be listed as an input too.
  std::erase_if(model.inputs, [&known](const std::string& name) { return known.contains(name); });
  known.insert(model.inputs.begin(), model.inputs.end());
  const auto& node = model.node;
  for (const std::string& name : node.inputs) {
    if (name.empty() || known.contains(name)) continue;
    throw InputError("onnx.unknown_value", where + ": node: input",
                     fmt::format("\"{}\" is no input of the graph", printable(name)));
  }
  for (const std::string& name : model.inputs) {
    if (std::find(node.inputs.begin(), node.inputs.end(), name) != node.inputs.end()) continue;
    throw InputError("onnx.unused_input", where + ": input " + printable(name),
                     "the node does not read it");
  }
  for (const std::string& name : model.outputs) {
    if (std::count(node.outputs.begin(), node.outputs.end(), name) == 1) continue;
    throw InputError("onnx.unknown_value", where + ": output " + printable(name),
                     "the node does not give it once");
  }
}

}  // namespace

OnnxModel parse_onnx_model(std::span<const std::byte> bytes, const std::string& where) {
  ProtobufReader message(bytes, where);
  OnnxModel model;
  bool has_graph = false;
  while (message.next()) {
    switch (message.field()) {
      case 7:
        has_graph = true;
        read_graph(message.message("graph"), model);
        break;
      case 8:
        read_operator_set(message.message_element("opset_import"), model);
        break;
      case 1:   // ir_version
      case 2:   // producer_name
      case 3:   // producer_version
      case 4:   // domain
      case 5:   // model_version
      case 6:   // doc_string
      case 14:  // metadata_props
      case 26:  // configuration
        message.skip();
        break;
      case 20:
      case 25:
        message.fail("onnx.unsupported_field", "",
                     "training information and functions are not supported");
      default:
        message.fail_unknown();
    }
  }
  if (!has_graph) throw InputError("onnx.missing_field", where + ": graph", "there is no graph");
  check_values(model, where + ": graph");
  return model;
}

OnnxModel read_onnx_model(const std::filesystem::path& path) {
  return parse_onnx_model(read_file(path), path.string());
}

}  // namespace gqa
