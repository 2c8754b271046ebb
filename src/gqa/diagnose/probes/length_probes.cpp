// Probes of cache lengths, of the past, and of packed documents.
#include "gqa/diagnose/probes/probe_builder.hpp"

namespace gqa {

std::vector<Probe> length_probes(ElementType type) {
  std::vector<Probe> probes;
  probes.push_back(ProbeBuilder(type, "length", "the length of each cache against its capacity",
                                {.batch = 2, .queries = 1, .keys = 6})
                       .lengths({3, 5})
                       .build());
  probes.push_back(ProbeBuilder(type, "length_causal", "the diagonal of caches of their own length",
                                {.batch = 2, .queries = 2, .keys = 7})
                       .lengths({4, 6})
                       .causal()
                       .build());
  probes.push_back(ProbeBuilder(type, "past", "past keys, with a chunk of new ones",
                                {.queries = 2, .keys = 2, .past = 3})
                       .causal()
                       .build());
  probes.push_back(ProbeBuilder(type, "past_onnx", "positions that count the past",
                                {.queries = 2, .keys = 3, .past = 2})
                       .causal(CausalAlignment::onnx)
                       .build());
  probes.push_back(ProbeBuilder(type, "documents", "the boundaries of packed documents",
                                {.queries = 7, .keys = 7})
                       .documents({0, 2, 3, 7})
                       .causal()
                       .build());
  return probes;
}

}  // namespace gqa
