// The example kernels, and small problems for them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gqa/kernel/host.hpp"
#include "support/typed.hpp"

namespace gqa::test {

/// Of tests/kernels, as built: "plain", "faulty", ...
inline std::filesystem::path kernel_path(const std::string& name) {
  return std::filesystem::path(GQAVERIFY_KERNELS_DIR) / (name + "_kernel.so");
}

inline KernelHost load_kernel(const std::string& name, const KernelLimits& limits = {}) {
  return KernelHost(kernel_path(name), limits, GQAVERIFY_KERNEL_HOST);
}

/// Zero queries on two keys; the values are 1 and 3, so that the output is 2.
inline ProblemTensors mean_problem(ElementType type = ElementType::binary32) {
  ProblemTensors t;
  t.query = tensor_of(type, {1, 1, 1, 1}, {0});
  t.key = tensor_of(type, {1, 1, 2, 1}, {1, 1});
  t.value = tensor_of(type, {1, 1, 2, 1}, {1, 3});
  return t;
}

/// The decoded output; fails the test unless the run finished and is clean.
inline std::vector<double> output_of(const KernelRun& run) {
  if (!run.is_clean()) throw std::runtime_error("the kernel " + describe(run));
  return decode(*run.output).data();
}

}  // namespace gqa::test
