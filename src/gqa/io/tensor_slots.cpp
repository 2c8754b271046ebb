#include "gqa/io/tensor_slots.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "gqa/attention/problem_tensor_names.hpp"
#include "gqa/error.hpp"
#include "gqa/io/json.hpp"

namespace gqa {
namespace {

using Slot = std::shared_ptr<const TypedTensor> ProblemTensors::*;

constexpr const char* mode_name = "qk_matmul_output_mode";

const std::map<std::string, Slot>& slots() {
  static const std::map<std::string, Slot> table = [] {
    std::map<std::string, Slot> all{{"q", &ProblemTensors::query},
                                    {"k", &ProblemTensors::key},
                                    {"v", &ProblemTensors::value},
                                    {"o", &ProblemTensors::output}};
    for_each_tensor(
        [&all](const NamedProblemTensor& tensor) { all.emplace(tensor.name, tensor.field); });
    return all;
  }();
  return table;
}

int read_mode(const TypedTensor& tensor, const std::string& where) {
  const bool single = float_format(tensor.type) == nullptr && tensor.size() == 1;
  const std::int64_t mode = single ? decode_integers(tensor, where).data().front() : -1;
  if (mode < 0 || mode > 3) {
    throw InputError("recording.qk_matmul_output_mode", where,
                     fmt::format("{} of shape {} does not hold one integer from 0 to 3",
                                 name(tensor.type), to_text(tensor.shape)));
  }
  return static_cast<int>(mode);
}

}  // namespace

ProblemTensors assign_tensors(std::map<std::string, TypedTensor>&& tensors,
                              const std::string& where) {
  ProblemTensors result;
  for (auto& [name, tensor] : tensors) {
    const std::string place = fmt::format("{}: {}", where, printable(name));
    if (name == mode_name) {
      result.qk_matmul_output_mode = read_mode(tensor, place);
      continue;
    }
    const auto slot = slots().find(name);
    if (slot == slots().end()) {
      throw InputError("recording.unknown_tensor", place,
                       "the tensor is not part of an attention problem");
    }
    auto& field = result.*(slot->second);
    if (field) {
      throw InputError("recording.tensor_stated_twice", place,
                       "the tensor is there under its other name too");
    }
    field = std::make_shared<const TypedTensor>(std::move(tensor));
  }
  return result;
}

}  // namespace gqa
