// Where the axes of the tensors of a problem can be, by their shapes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gqa/attention/contract.hpp"
#include "gqa/attention/problem_tensors.hpp"

namespace gqa {

/// The contract with another layout for each way in which the shapes of query, key, value, output
/// and of the other operands agree, those first that say least: the declared layout, one layout for
/// all, output alone or query and output apart. Head counts of folded layouts are kept where they
/// are declared, and otherwise every one is tried that leaves heads of 4 to 1024 columns. The rest
/// of the contract is as it was. At most `largest`. `tensors.output` may be absent.
std::vector<Contract> fitting_layouts(const ProblemTensors& tensors, const Contract& contract,
                                      std::size_t largest = 64);

/// The flags that say so: "--layout BSHD", "--layout BSH --q-heads 8 --kv-heads 2".
std::string layout_flags(const Contract& contract);

}  // namespace gqa
