// Probes for kernels that do one thing only: always causal, one query row, float masks.
#pragma once

#include <vector>

#include "gqa/diagnose/probes/probe.hpp"

namespace gqa {

/// The probe as kernels with fixed habits would take it, least changed first: causal as well, its
/// last query row alone (a step of decoding), its boolean mask as numbers (0 and minus infinity),
/// and several of these together. Each reads what the probe reads, as far as it still can, and says
/// in `habit` what was changed. Empty where nothing can be changed.
std::vector<Probe> adapted_probes(const Probe& probe);

}  // namespace gqa
