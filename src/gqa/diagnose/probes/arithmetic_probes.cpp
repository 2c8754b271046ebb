// Probes of the softmax's arithmetic: maxima, online sums, narrow sums, merges of shards.
#include "gqa/diagnose/probes/probe_builder.hpp"

namespace gqa {
namespace {

double zero(std::int64_t, std::int64_t, std::int64_t, std::int64_t) {
  return 0;
}
double one(std::int64_t, std::int64_t, std::int64_t, std::int64_t) {
  return 1;
}
// Scores are the sums of the keys' first two numbers: together these have more digits than
// float8 e5m2 has.
double two_units(std::int64_t, std::int64_t, std::int64_t, std::int64_t d) {
  return d < 2 ? 1 : 0;
}

}  // namespace

std::vector<Probe> arithmetic_probes(ElementType type) {
  std::vector<Probe> probes;
  // exp(96) is beyond binary32; so is the sum of squares of nothing else here.
  probes.push_back(ProbeBuilder(type, "large_scores", "scores of 96: exp without the maximum",
                                {.queries = 1, .keys = 3})
                       .scale(1)
                       .query(two_units)
                       .key([](auto, auto, std::int64_t s, std::int64_t d) {
                         // 96, 96, 88.
                         return d == 0 ? 96.0 : d == 1 && s == 2 ? -8.0 : 0.0;
                       })
                       .build());
  probes.push_back(ProbeBuilder(type, "rising_scores", "an online softmax whose maximum moves",
                                {.queries = 1, .keys = 12})
                       .query(two_units)
                       .key([](auto, auto, std::int64_t s, std::int64_t d) {
                         // 0, 1/2, 1, ... 11/2.
                         if (d > 1) return 0.0;
                         return d == 0 ? static_cast<double>(s / 2)
                                       : static_cast<double>(s % 2) / 2;
                       })
                       .build());
  probes.push_back(
      ProbeBuilder(
          type, "long_sum", "a sum of 4096 equal terms",
          {.q_heads = 1, .kv_heads = 1, .queries = 1, .keys = 4096, .key_size = 1, .value_size = 1})
          .query(zero)
          .key(zero)
          .value(one)
          .build());
  probes.push_back(ProbeBuilder(type, "large_products", "q.k of 65536 before the scale",
                                {.queries = 1, .keys = 2})
                       .query([](auto, auto, auto, auto) { return 128.0; })
                       .key([](auto, auto, auto, auto) { return 128.0; })
                       .build());
  probes.push_back(ProbeBuilder(type, "uneven_split",
                                "a history of 4 + 1 keys: the merge of shards",
                                {.queries = 1, .keys = 5})
                       .query(zero)
                       .value([](auto, auto, std::int64_t s, std::int64_t d) {
                         return s == 4 ? 8.0 : d == 1 ? static_cast<double>(s) : 0.0;
                       })
                       .build());
  probes.push_back(ProbeBuilder(type, "shards", "merges and blocks of 19 keys with scores",
                                {.queries = 2, .keys = 19})
                       .build());
  return probes;
}

}  // namespace gqa
