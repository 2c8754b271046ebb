// Problems and tolerances from Python's arguments.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>
#include <string>

#include "gqa/attention/attention_problem.hpp"
#include "gqa/audit/decide/stated_tolerance.hpp"

namespace gqa::python {

/// Tensors by the names of docs/contract.md; those that are None are left out. `dtype` is one of
/// the library's names of a floating-point type, or None: of query, key, value, the caches and the
/// outputs.
/// Errors: those of tensor_argument at the tensor's name; "recording.unknown_tensor".
ProblemTensors problem_tensors(const pybind11::dict& tensors,
                               const std::optional<std::string>& dtype);

/// A contract from its JSON object; an error names the field alone.
/// Errors: those of read_contract.
Contract stated_contract(const std::string& json);
/// The same, on top of what is declared already.
void state_contract(const std::string& json, Contract& contract);

/// Entries "atol", "rtol", "max_ulp", "model" (texts) and "accept" ("worst-case"), where stated.
ToleranceWords tolerance_words(const pybind11::dict& words);

}  // namespace gqa::python
