#include "gqa/attention/layout_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "gqa/attention/dimensions.hpp"
#include "gqa/attention/strided_tensor.hpp"
#include "gqa/error.hpp"

namespace gqa {
namespace {

using TensorPointer = std::shared_ptr<const TypedTensor>;
using Choice = std::array<Layout, operands.size()>;

constexpr std::array four_axes{Layout::bhsd, Layout::bshd, Layout::sbhd};
// Before packed documents: what has no cu_seqlens is hardly packed.
constexpr std::array three_axes{Layout::bsh, Layout::thd, Layout::hsd};

struct Heads {
  std::optional<std::int64_t> query;
  std::optional<std::int64_t> key;
};

const TensorPointer& tensor_of(const ProblemTensors& tensors, Operand operand) {
  switch (operand) {
    case Operand::query:
      return tensors.query;
    case Operand::key:
      return tensors.key;
    case Operand::value:
      return tensors.value;
    case Operand::output:
      break;
  }
  return tensors.output;
}

std::vector<Layout> layouts_for(const TensorPointer& tensor, Layout declared) {
  if (!tensor) return {declared};
  if (tensor->shape.size() == 4) return {four_axes.begin(), four_axes.end()};
  if (tensor->shape.size() == 3) return {three_axes.begin(), three_axes.end()};
  return {};
}

// The number of things that somebody would have to say.
int statements(const Choice& choice, Layout declared) {
  const auto& [query, key, value, output] = choice;
  if (query == key && key == value && value == output) return query == declared ? 0 : 1;
  int count = 1;
  for (const Layout layout : choice) count += layout == declared ? 0 : 1;
  // Query, key and value together; queries with their output; keys with values.
  if (query == key && key == value) return count == 2 ? 1 : 2;
  return count + (key == value ? 0 : 3) + (query == output ? 0 : 1);
}

std::vector<Choice> all_choices(const ProblemTensors& tensors, Layout declared) {
  std::vector<Choice> choices;
  for (const Layout query : layouts_for(tensors.query, declared)) {
    for (const Layout key : layouts_for(tensors.key, declared)) {
      for (const Layout value : layouts_for(tensors.value, declared)) {
        for (const Layout output : layouts_for(tensors.output, tensors.output ? declared : query)) {
          choices.push_back({query, key, value, tensors.output ? output : query});
        }
      }
    }
  }
  std::ranges::stable_sort(choices, [declared](const Choice& a, const Choice& b) {
    return statements(a, declared) < statements(b, declared);
  });
  return choices;
}

bool is_folded(const Choice& choice) {
  return std::ranges::find(choice, Layout::bsh) != choice.end();
}

// Head counts of a folded layout that leave whole heads of one width.
std::vector<Heads> head_counts(const ProblemTensors& tensors, const Choice& choice,
                               const Contract& contract) {
  if (!is_folded(choice) || (contract.q_num_heads && contract.kv_num_heads)) {
    return {{contract.q_num_heads, contract.kv_num_heads}};
  }
  constexpr std::int64_t least_width = 4;
  constexpr std::int64_t largest_width = 1024;
  std::vector<Heads> counts;
  const auto heads_of = [&](const TensorPointer& tensor, Layout layout, std::int64_t width) {
    if (layout == Layout::bsh) return tensor->shape[2] % width == 0 ? tensor->shape[2] / width : 0;
    const StridedTensor view(tensor, layout, 0, "tensor");
    return view.shape()[3] == width ? view.shape()[1] : 0;
  };
  for (std::int64_t width = largest_width; width >= least_width; --width) {
    const std::int64_t query = heads_of(tensors.query, choice[0], width);
    const std::int64_t key = heads_of(tensors.key, choice[1], width);
    if (query > 0 && key > 0 && query % key == 0) counts.push_back({query, key});
  }
  return counts;
}

void set_shape(std::optional<Shape>& shape, const TensorPointer& tensor) {
  if (tensor) shape = tensor->shape;
}

bool shapes_agree(const ProblemTensors& tensors, const Contract& contract) {
  try {
    const auto shape = [&](Operand operand) {
      const bool of_queries = operand == Operand::query || operand == Operand::output;
      const auto& heads = of_queries ? contract.q_num_heads : contract.kv_num_heads;
      return StridedTensor(tensor_of(tensors, operand), contract.layout_of(operand),
                           heads.value_or(0), std::string(name(operand)))
          .shape();
    };
    ProblemShapes shapes;
    shapes.query = shape(Operand::query);
    shapes.key = shape(Operand::key);
    shapes.value = shape(Operand::value);
    if (tensors.output) shapes.output = shape(Operand::output);
    set_shape(shapes.past_key, tensors.past_key);
    set_shape(shapes.past_value, tensors.past_value);
    set_shape(shapes.attn_mask, tensors.attn_mask);
    set_shape(shapes.sink, tensors.sink);
    set_shape(shapes.alibi_slopes, tensors.alibi_slopes);
    const Dimensions d = resolve_dimensions(shapes);
    resolve_head_map(contract.head_map, d.q_heads, d.kv_heads);
    return !tensors.nonpad_kv_seqlen || tensors.nonpad_kv_seqlen->shape == Shape{d.batch};
  } catch (const InputError&) {
    return false;
  }
}

// `layout` is the one of most operands.
void state(Contract& contract, const Choice& choice) {
  contract.layout = *std::ranges::max_element(
      choice, {}, [&choice](Layout layout) { return std::ranges::count(choice, layout); });
  contract.own_layouts = {};
  for (std::size_t i = 0; i < choice.size(); ++i) {
    if (choice[i] != contract.layout) contract.own_layouts[i] = choice[i];
  }
}

}  // namespace

std::vector<Contract> fitting_layouts(const ProblemTensors& tensors, const Contract& contract,
                                      std::size_t largest) {
  std::vector<Contract> fitting;
  if (!tensors.query || !tensors.key || !tensors.value) return fitting;
  for (const Choice& choice : all_choices(tensors, contract.layout_of(Operand::query))) {
    for (const Heads& heads : head_counts(tensors, choice, contract)) {
      if (fitting.size() == largest) return fitting;
      Contract trial = contract;
      state(trial, choice);
      if (is_folded(choice)) {
        trial.q_num_heads = heads.query;
        trial.kv_num_heads = heads.key;
      }
      if (shapes_agree(tensors, trial)) fitting.push_back(std::move(trial));
    }
  }
  return fitting;
}

std::string layout_flags(const Contract& contract) {
  std::string flags = "--layout " + layouts_text(contract);
  const bool folded = std::ranges::any_of(operands, [&contract](Operand operand) {
    return contract.layout_of(operand) == Layout::bsh;
  });
  if (folded && contract.q_num_heads) flags += fmt::format(" --q-heads {}", *contract.q_num_heads);
  if (folded && contract.kv_num_heads) {
    flags += fmt::format(" --kv-heads {}", *contract.kv_num_heads);
  }
  return flags;
}

}  // namespace gqa
