// Every probe.
#pragma once

#include <vector>

#include "gqa/diagnose/probes/probe.hpp"

namespace gqa {

/// All probes in one element type (masks are boolean, lengths int64, slopes binary32).
/// At most 64, so that an identification is at most 64 kernel calls.
std::vector<Probe> probes(ElementType type);

}  // namespace gqa
