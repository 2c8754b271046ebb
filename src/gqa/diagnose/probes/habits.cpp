#include "gqa/diagnose/probes/habits.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "gqa/attention/encoded_tensor.hpp"

namespace gqa {
namespace {

using TensorPointer = std::shared_ptr<const TypedTensor>;
using Adaptation = std::optional<Probe> (*)(const Probe&);

Probe with_habit(Probe probe, const char* habit) {
  probe.habit += (probe.habit.empty() ? "" : ", ") + std::string(habit);
  return probe;
}

std::optional<Probe> made_causal(const Probe& probe) {
  if (probe.contract.causal) return std::nullopt;
  Probe adapted = with_habit(probe, "causal");
  adapted.contract.causal = true;
  return adapted;
}

// The last entry of an axis, which stays there with extent 1.
TensorPointer last_of(const TensorPointer& tensor, std::size_t axis) {
  auto result = std::make_shared<TypedTensor>();
  result->type = tensor->type;
  result->shape = tensor->shape;
  result->shape[axis] = 1;
  const std::size_t size = element_size(tensor->type);
  std::size_t inner = size;
  for (std::size_t a = axis + 1; a < tensor->shape.size(); ++a) {
    inner *= static_cast<std::size_t>(tensor->shape[a]);
  }
  const std::size_t outer = inner * static_cast<std::size_t>(tensor->shape[axis]);
  for (std::size_t begin = 0; begin + outer <= tensor->bytes.size(); begin += outer) {
    const auto from = tensor->bytes.begin() + static_cast<std::ptrdiff_t>(begin + outer - inner);
    result->bytes.insert(result->bytes.end(), from, from + static_cast<std::ptrdiff_t>(inner));
  }
  return result;
}

// From the top left the last row would become the first.
std::optional<Probe> last_row(const Probe& probe) {
  const ProblemTensors& tensors = probe.tensors;
  const bool moves = probe.contract.causal_alignment == CausalAlignment::top_left &&
                     (probe.contract.causal || !probe.contract.window.is_unbounded());
  if (probe.contract.layout != Layout::bhsd || tensors.cu_seqlens_q || moves ||
      tensors.query->shape[2] < 2) {
    return std::nullopt;
  }
  Probe adapted = with_habit(probe, "the last row alone");
  adapted.tensors.query = last_of(tensors.query, 2);
  const TensorPointer& mask = tensors.attn_mask;
  const std::size_t axes = mask ? mask->shape.size() : 0;
  if (axes >= 2 && mask->shape[axes - 2] > 1) {
    adapted.tensors.attn_mask = last_of(mask, axes - 2);
  }
  return adapted;
}

std::optional<Probe> float_mask(const Probe& probe) {
  const TensorPointer& mask = probe.tensors.attn_mask;
  if (!mask || mask->type != ElementType::boolean) return std::nullopt;
  std::vector<double> numbers;
  const Tensor<std::int64_t> flags = decode_integers(*mask, "attn_mask");
  for (const std::int64_t flag : flags.data()) {
    numbers.push_back(flag != 0 ? 0 : -std::numeric_limits<double>::infinity());
  }
  // Not every 8-bit format has infinity.
  const ElementType type = element_size(probe.tensors.query->type) > 1 ? probe.tensors.query->type
                                                                       : ElementType::binary32;
  Probe adapted = with_habit(probe, "the mask as numbers");
  adapted.tensors.attn_mask = encoded_tensor(type, mask->shape, numbers);
  return adapted;
}

}  // namespace

std::vector<Probe> adapted_probes(const Probe& probe) {
  constexpr std::array<Adaptation, 3> adaptations{float_mask, made_causal, last_row};
  std::vector<Probe> all;
  // Sets of one, two and three of them.
  for (const unsigned set : {1U, 2U, 4U, 3U, 5U, 6U, 7U}) {
    std::optional<Probe> adapted = probe;
    for (std::size_t i = 0; i < adaptations.size() && adapted; ++i) {
      if ((set >> i & 1U) != 0) adapted = adaptations[i](*adapted);
    }
    if (adapted) all.push_back(std::move(*adapted));
  }
  return all;
}

}  // namespace gqa
