// Probes of scale, softcap and ALiBi.
#include "gqa/diagnose/probes/probe_builder.hpp"

namespace gqa {
namespace {

// Keys whose scores differ by one chosen amount from each other.
ProbeBuilder::Rule first_coordinate(double step) {
  return [step](auto, auto, std::int64_t s, std::int64_t d) {
    return d == 0 ? step * static_cast<double>(s) : 0.0;
  };
}
double unit(std::int64_t, std::int64_t, std::int64_t, std::int64_t d) {
  return d == 0 ? 1 : 0;
}

}  // namespace

std::vector<Probe> score_probes(ElementType type) {
  std::vector<Probe> probes;
  // dk = 4, Hq = 8, dv = 2: the scales 1, 1/4, 1/sqrt(32), 1/sqrt(8) and 1/sqrt(2) all differ.
  probes.push_back(ProbeBuilder(type, "scale", "the default scale",
                                {.q_heads = 8, .queries = 2, .keys = 3, .value_size = 2})
                       .build());
  probes.push_back(ProbeBuilder(type, "scale_given", "a given scale of 3/4",
                                {.q_heads = 8, .queries = 2, .keys = 3, .value_size = 2})
                       .scale(Rational(3, 4))
                       .build());
  probes.push_back(ProbeBuilder(type, "weights_sum", "that weights sum to one: equal values",
                                {.queries = 2, .keys = 3})
                       .value([](auto, auto, auto, auto) { return 4.0; })
                       .build());
  probes.push_back(
      ProbeBuilder(type, "softcap", "a softcap of 2 on scores up to 12", {.queries = 2, .keys = 4})
          .softcap(2)
          .query(unit)
          .key(first_coordinate(8))
          .build());
  probes.push_back(ProbeBuilder(type, "softcap_causal", "the order of softcap and mask",
                                {.queries = 3, .keys = 3})
                       .softcap(1)
                       .causal()
                       .build());
  probes.push_back(
      ProbeBuilder(type, "softcap_mask", "the order of softcap and bias", {.queries = 2, .keys = 3})
          .softcap(1)
          .float_mask({2, 3}, {0.5, -2, 1, 2, 0, -1})
          .build());
  probes.push_back(
      ProbeBuilder(type, "softcap_large", "a score of 128 softcaps", {.queries = 1, .keys = 2})
          .softcap(Rational(1, 2))
          .scale(1)
          .query([](auto, auto, auto, std::int64_t d) { return d == 0 ? 8.0 : 0.0; })
          .key(first_coordinate(8))
          .build());
  probes.push_back(ProbeBuilder(type, "alibi", "ALiBi slopes of eight heads",
                                {.q_heads = 8, .queries = 2, .keys = 4})
                       .causal()
                       .alibi_slopes({0.5, 0.25, 0.125, 0x1p-4, 0x1p-5, 0x1p-6, 0x1p-7, 0x1p-8})
                       .build());
  // The rule for a head count that is no power of two, as the ALiBi authors publish it: the
  // slopes of four heads, then every second one of eight heads.
  probes.push_back(ProbeBuilder(type, "alibi_six_heads", "ALiBi slopes of six heads",
                                {.q_heads = 6, .queries = 2, .keys = 6})
                       .causal()
                       .alibi_slopes({0.25, 0x1p-4, 0x1p-6, 0x1p-8, 0.5, 0.125})
                       .build());
  return probes;
}

}  // namespace gqa
