// A Python callable as an implementation under test.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "gqa/diagnose/probes/probe_run.hpp"
#include "gqa/kernel/host.hpp"

namespace gqa::python {

/// Puts problems before a Python function, in this process.
///
/// `adapter` is a gqaverify._adapter.Adapter: it has `name`, `features`, `layouts`, and
/// `answer(tensors, contract)`, which gives (output or None, supported, finding). What the
/// function raises is a finding about it, and so are an output of another shape and a changed
/// input; an interruption (KeyboardInterrupt, SystemExit) passes through.
class PythonKernel {
 public:
  /// Call with the lock held.
  explicit PythonKernel(pybind11::object adapter);

  const KernelCapabilities& capabilities() const { return capabilities_; }
  /// Takes the lock itself. `output` of the tensors is not read.
  ProbeAnswer run(const ProblemTensors& tensors, const Contract& contract, ElementType type,
                  std::int64_t key_row_stride_factor = 1) const;

 private:
  pybind11::object adapter_;
  KernelCapabilities capabilities_;
};

}  // namespace gqa::python
