#include "gqa/attention/not_finite.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdint>

#include "gqa/attention/problem_tensor_names.hpp"
#include "gqa/attention/typed_tensor.hpp"

namespace gqa {
namespace {

// The index of element number `flat` of a row-major tensor.
std::string index_text(const Shape& shape, std::size_t flat) {
  std::vector<std::int64_t> index(shape.size());
  auto rest = static_cast<std::int64_t>(flat);
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = rest % shape[axis];
    rest /= shape[axis];
  }
  return fmt::format("[{}]", fmt::join(index, ","));
}

std::string told(std::string_view name, const TypedTensor& tensor) {
  const Tensor<double> values = decode(tensor, std::string(name));
  std::size_t first = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < values.data().size(); ++i) {
    if (std::isfinite(values.data()[i])) continue;
    if (count++ == 0) first = i;
  }
  if (count == 0) return "";
  std::string text =
      fmt::format("{}{} is {}", name, index_text(tensor.shape, first), values.data()[first]);
  if (count > 1) text += fmt::format(", the first of {} that are no numbers", count);
  return text;
}

}  // namespace

std::vector<std::string> not_finite_inputs(const ProblemTensors& tensors) {
  std::vector<std::string> found;
  for (const NamedProblemTensor& entry : input_tensors()) {
    const auto& tensor = tensors.*entry.field;
    if (!tensor || float_format(tensor->type) == nullptr || entry.name == "attn_mask") continue;
    std::string text = told(entry.name, *tensor);
    if (!text.empty()) found.push_back(std::move(text));
  }
  return found;
}

}  // namespace gqa
