#include "problem_argument.hpp"

#include <pybind11/stl.h>

#include <array>
#include <string_view>

#include "gqa/attention/problem_tensor_names.hpp"
#include "gqa/error.hpp"
#include "gqa/io/contract_json.hpp"
#include "gqa/io/json.hpp"
#include "tensor_argument.hpp"

namespace py = pybind11;

namespace gqa::python {
namespace {

// Tensors that are no operands and no outputs keep the type that they come in.
bool takes_dtype(std::string_view name) {
  constexpr std::array own_types{"attn_mask",    "nonpad_kv_seqlen", "past_lengths", "sink",
                                 "alibi_slopes", "cu_seqlens_q",     "cu_seqlens_k", "grad_lse"};
  for (const std::string_view own : own_types) {
    if (name == own) return false;
  }
  return true;
}

std::shared_ptr<const TypedTensor>* field_of(ProblemTensors& tensors, std::string_view name) {
  for (const auto& known : {input_tensors(), output_tensors()}) {
    for (const NamedProblemTensor& entry : known) {
      if (entry.name == name) return &(tensors.*entry.field);
    }
  }
  return nullptr;
}

// "contract: window" -> "window": there is no file whose field it would be.
std::string without_prefix(const std::string& where) {
  constexpr std::string_view prefix = "contract: ";
  return where.starts_with(prefix) ? where.substr(prefix.size()) : where;
}

}  // namespace

ProblemTensors problem_tensors(const py::dict& tensors, const std::optional<std::string>& dtype) {
  ElementWish wish;
  if (dtype) wish.type = element_type_named(*dtype, "dtype");
  ProblemTensors result;
  for (const auto& [key, object] : tensors) {
    const auto name = key.cast<std::string>();
    if (object.is_none()) continue;
    if (name == "qk_matmul_output_mode") {
      result.qk_matmul_output_mode = object.cast<int>();
      continue;
    }
    auto* field = field_of(result, name);
    if (field == nullptr) {
      throw InputError("recording.unknown_tensor", name, "is not a tensor of attention");
    }
    wish.convert = wish.bytes_are_bits = takes_dtype(name);
    *field = tensor_argument(object, name, wish);
  }
  return result;
}

void state_contract(const std::string& json, Contract& contract) {
  try {
    read_contract(parse_json_strictly(json, "contract"), contract, "contract");
  } catch (const InputError& error) {
    throw InputError(error.code(), without_prefix(error.where()), error.message());
  }
}

Contract stated_contract(const std::string& json) {
  Contract contract;
  state_contract(json, contract);
  return contract;
}

ToleranceWords tolerance_words(const py::dict& words) {
  const auto word = [&words](const char* name) -> std::optional<std::string> {
    if (!words.contains(name) || words[name].is_none()) return std::nullopt;
    return words[name].cast<std::string>();
  };
  const auto accept = word("accept");
  if (accept && *accept != "worst-case") {
    throw InputError("tolerance.unknown_word", "accept", "only \"worst-case\" is known");
  }
  return {word("atol"), word("rtol"), word("max_ulp"), word("model"), accept.has_value()};
}

}  // namespace gqa::python
