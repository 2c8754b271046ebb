// ONNX models of one node, put together by hand.
#pragma once

#include <string>
#include <vector>

#include "io/protobuf_support.hpp"

namespace gqa::test {

inline std::string int_attribute(const std::string& name, std::int64_t value) {
  return pb::bytes(5, pb::bytes(1, name) + pb::integer(3, value) + pb::integer(20, 2));
}

inline std::string float_attribute(const std::string& name, float value) {
  return pb::bytes(5, pb::bytes(1, name) + pb::binary32(2, value) + pb::integer(20, 1));
}

inline std::string text_attribute(const std::string& name, const std::string& value) {
  return pb::bytes(5, pb::bytes(1, name) + pb::bytes(4, value) + pb::integer(20, 3));
}

/// What a model says; the defaults are a plain Attention of opset 23.
struct ModelText {
  std::string operator_name = "Attention";
  std::string domain;
  std::int64_t opset = 23;
  std::vector<std::string> inputs{"Q", "K", "V"};  ///< of the node; "" left out
  std::vector<std::string> outputs{"Y"};
  std::string attributes;
  std::string more_node;   ///< further fields of the node
  std::string more_graph;  ///< further fields of the graph
  std::string more_model;  ///< further fields of the model

  std::string graph() const {
    std::string node;
    for (const std::string& name : inputs) node += pb::bytes(1, name);
    for (const std::string& name : outputs) node += pb::bytes(2, name);
    node += pb::bytes(4, operator_name) + attributes + pb::bytes(7, domain) + more_node;
    std::string graph = pb::bytes(1, node) + pb::bytes(2, "graph");
    for (const std::string& name : inputs) {
      if (!name.empty()) graph += pb::bytes(11, pb::bytes(1, name));
    }
    for (const std::string& name : outputs) {
      if (!name.empty()) graph += pb::bytes(12, pb::bytes(1, name));
    }
    return graph + more_graph;
  }
  std::string operator_set() const {
    return pb::bytes(8, pb::bytes(1, domain) + pb::integer(2, opset));
  }
  std::string bytes() const {
    return pb::integer(1, 10) + pb::bytes(7, graph()) + operator_set() + more_model;
  }
};

}  // namespace gqa::test
