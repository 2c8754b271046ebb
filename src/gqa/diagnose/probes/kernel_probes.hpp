// Probes put before the kernel of a shared object.
#pragma once

#include "gqa/diagnose/probes/probe_run.hpp"
#include "gqa/kernel/host.hpp"

namespace gqa {

/// Runs probes on a hosted kernel, which must outlive the runner. Probes that need what the
/// kernel says it cannot do come back unsupported without a call.
ProbeRunner kernel_runner(KernelHost& host, ElementType type);

/// Can the kernel take this problem, by its own capabilities?
bool is_supported(const KernelCapabilities& capabilities, const Probe& probe, ElementType type);

}  // namespace gqa
