#include "gqa/diagnose/probes/fault_example.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "gqa/attention/problem_tensor_names.hpp"
#include "gqa/diagnose/evaluate/evaluated_row.hpp"
#include "gqa/diagnose/probes/probe_list.hpp"

namespace gqa {
namespace {

// Elements to read, times the tensors to understand.
std::int64_t effort(const ProblemTensors& tensors) {
  std::int64_t elements = 0;
  std::int64_t count = 0;
  for (const NamedProblemTensor& input : input_tensors()) {
    const auto& tensor = tensors.*input.field;
    if (!tensor) continue;
    elements += element_count(tensor->shape);
    ++count;
  }
  return elements * count;
}

// Zeros: a behaviour wants to know where outputs lie, not what they hold. Rows of queries, with
// the width of values.
std::shared_ptr<const TypedTensor> placeholder_output(const Probe& probe) {
  auto output = std::make_shared<TypedTensor>();
  output->type = probe.tensors.query->type;
  output->shape = probe.tensors.query->shape;
  output->shape.back() = probe.tensors.value->shape.back();
  if (probe.contract.q_num_heads) {
    output->shape.back() =
        output->shape.back() / *probe.contract.kv_num_heads * *probe.contract.q_num_heads;
  }
  output->bytes.resize(static_cast<std::size_t>(element_count(output->shape)) * sizeof(float));
  return output;
}

std::vector<double> numbers(const EvaluatedRow<double>& row) {
  std::vector<double> output = row.output;
  for (std::size_t c = 0; c < output.size(); ++c) {
    if (row.is_nan[c] != 0) output[c] = std::numeric_limits<double>::quiet_NaN();
  }
  return output;
}

// Far beyond what rounding could do to these small numbers.
bool differ(const std::vector<double>& right, const std::vector<double>& wrong) {
  for (std::size_t c = 0; c < right.size(); ++c) {
    if (std::isnan(right[c]) != std::isnan(wrong[c])) return true;
    if (std::abs(right[c] - wrong[c]) > 1e-3 * std::max(1.0, std::abs(right[c]))) return true;
  }
  return false;
}

bool find_row(const Behaviour& declared, const Behaviour& edited, FaultExample& example) {
  for (std::int64_t b = 0; b < declared.batch(); ++b) {
    for (std::int64_t h = 0; h < declared.query_heads(); ++h) {
      for (std::int64_t i = 0; i < declared.queries(); ++i) {
        const auto right = evaluate_row<double>(declared, b, h, i);
        const auto wrong = evaluate_row<double>(edited, b, h, i);
        if (right.anything || wrong.anything || !differ(numbers(right), numbers(wrong))) continue;
        example.batch = b;
        example.head = h;
        example.row = i;
        example.right = numbers(right);
        example.wrong = numbers(wrong);
        return true;
      }
    }
  }
  return false;
}

std::optional<FaultExample> example_on(Probe probe, const FaultKind& kind) {
  probe.tensors.output = placeholder_output(probe);
  Behaviour declared = behaviour_of(probe.tensors, probe.contract);
  declared.key_row_stride_factor = probe.key_row_stride_factor;
  FaultExample example;
  for (const Fault& fault : all_faults()) {
    if (fault.kind != &kind) continue;
    Behaviour edited = declared;
    const Edit edit = fault.apply(edited);
    if (edit == Edit::not_applicable || edit == Edit::same) continue;
    if (!find_row(declared, edited, example)) continue;
    example.fault = fault;
    example.probe = std::move(probe);
    return example;
  }
  return std::nullopt;
}

}  // namespace

std::optional<FaultExample> smallest_example(const FaultKind& kind) {
  std::vector<Probe> all = probes(ElementType::binary32);
  std::ranges::stable_sort(all, {}, [](const Probe& probe) { return effort(probe.tensors); });
  for (Probe& probe : all) {
    if (auto example = example_on(std::move(probe), kind)) return example;
  }
  return std::nullopt;
}

}  // namespace gqa
