// Probes of the head map.
#include "gqa/diagnose/probes/probe_builder.hpp"

namespace gqa {

std::vector<Probe> head_map_probes(ElementType type) {
  std::vector<Probe> probes;
  // Sixteen heads on four: the tiled map, the shards' maps and the replicas' maps all differ.
  probes.push_back(ProbeBuilder(type, "head_map", "the KV head that each query head reads",
                                {.q_heads = 16, .kv_heads = 4, .queries = 1, .keys = 4})
                       .build());
  probes.push_back(
      ProbeBuilder(type, "head_map_values", "the head map of V alone: uniform weights",
                   {.q_heads = 16, .kv_heads = 4, .queries = 1, .keys = 2})
          .query([](auto, auto, auto, auto) { return 0.0; })
          .value([](auto, std::int64_t h, auto, auto) { return static_cast<double>(h + 1); })
          .build());
  // Every KV head holds the same values: only its keys tell which one was read.
  probes.push_back(
      ProbeBuilder(type, "head_map_keys", "the head map of K alone: equal values",
                   {.q_heads = 16, .kv_heads = 4, .queries = 1, .keys = 5})
          .query([](auto, auto, auto, auto) { return 1.0; })
          .key([](auto, std::int64_t h, std::int64_t s, std::int64_t d) {
            return d == 0 && s == h ? 6.0 : 0.0;
          })
          .value([](auto, auto, std::int64_t s, std::int64_t d) { return s == d ? 8.0 : 0.0; })
          .build());
  probes.push_back(ProbeBuilder(type, "single_kv_head", "a history repeated along the wrong axis",
                                {.q_heads = 3, .kv_heads = 1, .queries = 3, .keys = 4})
                       .causal()
                       .build());
  return probes;
}

}  // namespace gqa
