// Probes of attention sinks.
#include "gqa/diagnose/probes/probe_builder.hpp"

namespace gqa {

std::vector<Probe> sink_probes(ElementType type) {
  std::vector<Probe> probes;
  probes.push_back(ProbeBuilder(type, "sink_zero", "a sink with logit 0 beside one key",
                                {.queries = 1, .keys = 1})
                       .query([](auto, auto, auto, auto) { return 0.0; })
                       .sink({0, 0, 0, 0})
                       .build());
  probes.push_back(ProbeBuilder(type, "sink", "sinks with a logit of their own per head",
                                {.queries = 2, .keys = 3})
                       .causal()
                       .sink({1, -1, 2, 0.5})
                       .build());
  probes.push_back(ProbeBuilder(type, "sink_window",
                                "a sink whose row sees no key of the first tile",
                                {.queries = 1, .keys = 10})
                       .causal()
                       .window(1)
                       .sink({1, -1, 2, 0.5})
                       .build());
  return probes;
}

}  // namespace gqa
