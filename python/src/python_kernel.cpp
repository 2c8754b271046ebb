#include "python_kernel.hpp"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "array_result.hpp"
#include "gqa/attention/dialect.hpp"
#include "gqa/attention/packed.hpp"
#include "gqa/attention/problem_tensor_names.hpp"
#include "gqa/error.hpp"
#include "gqa/io/contract_json.hpp"
#include "tensor_argument.hpp"

namespace py = pybind11;

namespace gqa::python {
namespace {

constexpr std::array<std::pair<const char*, gqa_kernel_feature>, 15> features{
    {{"causal", GQA_FEATURE_CAUSAL},
     {"window", GQA_FEATURE_WINDOW},
     {"softcap", GQA_FEATURE_SOFTCAP},
     {"mask_boolean", GQA_FEATURE_MASK_BOOLEAN},
     {"mask_float", GQA_FEATURE_MASK_FLOAT},
     {"alibi", GQA_FEATURE_ALIBI},
     {"sink", GQA_FEATURE_SINK},
     {"past", GQA_FEATURE_PAST},
     {"lengths", GQA_FEATURE_LENGTHS},
     {"packed", GQA_FEATURE_PACKED},
     {"strided", GQA_FEATURE_STRIDED},
     {"value_size", GQA_FEATURE_VALUE_SIZE},
     {"head_map", GQA_FEATURE_HEAD_MAP},
     {"scale", GQA_FEATURE_SCALE},
     {"empty_row", GQA_FEATURE_EMPTY_ROW}}};

KernelCapabilities capabilities_of(const py::object& adapter) {
  KernelCapabilities capabilities;
  capabilities.name = adapter.attr("name").cast<std::string>();
  const auto named = adapter.attr("features").cast<std::vector<std::string>>();
  for (const auto& [name, feature] : features) {
    if (std::ranges::find(named, name) != named.end()) {
      capabilities.features |= static_cast<std::uint64_t>(feature);
    }
  }
  for (const auto& layout : adapter.attr("layouts").cast<std::vector<std::string>>()) {
    capabilities.layouts.push_back(parse_layout(layout, "layout"));
  }
  // NumPy has an array for each of them.
  capabilities.element_types = {ElementType::binary64,      ElementType::binary32,
                                ElementType::binary16,      ElementType::bfloat16,
                                ElementType::float8_e4m3fn, ElementType::float8_e5m2};
  return capabilities;
}

struct GivenInput {
  std::string name;
  const TypedTensor* tensor;
  py::array array;
};

std::vector<GivenInput> given_inputs(const ProblemTensors& tensors, std::int64_t key_factor) {
  std::vector<GivenInput> inputs;
  for (const NamedProblemTensor& entry : input_tensors()) {
    const TypedTensor* tensor = (tensors.*entry.field).get();
    if (tensor == nullptr) continue;
    inputs.push_back(
        {std::string(entry.name), tensor, array_of(*tensor, entry.name == "key" ? key_factor : 1)});
  }
  return inputs;
}

// Fits the output the problem, in shape and type?
void require_fit(ProblemTensors tensors, const Contract& contract,
                 const std::shared_ptr<const TypedTensor>& output) {
  tensors.output = output;
  for (const PackedDocument& document : cut_documents(tensors, contract)) {
    make_problem(document.tensors, contract);
  }
}

void add_finding(ProbeAnswer& answer, const std::string& finding) {
  answer.finding += (answer.finding.empty() ? "" : "; ") + finding;
}

void take_output(const py::object& output, const ProblemTensors& tensors, const Contract& contract,
                 ElementType type, ProbeAnswer& answer) {
  try {
    auto tensor = tensor_argument(output, "output", {type, false, true});
    require_fit(tensors, contract, tensor);
    answer.output = std::move(tensor);
  } catch (const InputError& error) {
    add_finding(answer, fmt::format("gave no such output: {}", error.what()));
  }
}

void find_changes(const std::vector<GivenInput>& inputs, ProbeAnswer& answer) {
  for (const GivenInput& input : inputs) {
    const auto now = tensor_argument(input.array, input.name, {input.tensor->type, true, true});
    if (now->bytes != input.tensor->bytes) {
      add_finding(answer, fmt::format("changed its input {}", input.name));
    }
  }
}

}  // namespace

PythonKernel::PythonKernel(py::object adapter)
    : adapter_(std::move(adapter)), capabilities_(capabilities_of(adapter_)) {}

ProbeAnswer PythonKernel::run(const ProblemTensors& tensors, const Contract& contract,
                              ElementType type, std::int64_t key_row_stride_factor) const {
  const py::gil_scoped_acquire acquire;
  const std::vector<GivenInput> inputs = given_inputs(tensors, key_row_stride_factor);
  py::dict arrays;
  for (const GivenInput& input : inputs) arrays[input.name.c_str()] = input.array;
  const py::object words =
      py::module_::import("json").attr("loads")(to_json(resolve_dialect(contract)).dump());
  const auto [output, supported, finding] =
      adapter_.attr("answer")(arrays, words).cast<std::tuple<py::object, bool, std::string>>();
  ProbeAnswer answer;
  answer.supported = supported;
  answer.finding = finding;
  if (!supported) return answer;
  if (!output.is_none()) take_output(output, tensors, contract, type, answer);
  find_changes(inputs, answer);
  return answer;
}

}  // namespace gqa::python
