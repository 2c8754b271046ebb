// Probes of the causal rule, its alignment, and the window. Zero queries give equal weights, so
// that one-hot values show the visible keys themselves.
#include "gqa/diagnose/probes/probe_builder.hpp"

namespace gqa {
namespace {

double no_value(std::int64_t, std::int64_t, std::int64_t, std::int64_t) {
  return 0;
}
double one_hot(std::int64_t, std::int64_t, std::int64_t s, std::int64_t d) {
  return s == d ? 8 : 0;
}

ProbeBuilder seen_keys(ElementType type, std::string name, std::string reads, std::int64_t queries,
                       std::int64_t keys) {
  ProbeBuilder builder(type, std::move(name), std::move(reads),
                       {.queries = queries, .keys = keys, .value_size = keys});
  builder.query(no_value).value(one_hot);
  return builder;
}

}  // namespace

std::vector<Probe> visibility_probes(ElementType type) {
  std::vector<Probe> probes;
  probes.push_back(seen_keys(type, "all_visible", "that every key is visible", 3, 3).build());
  probes.push_back(
      seen_keys(type, "causal_square", "the causal rule at T = S", 4, 4).causal().build());
  probes.push_back(
      seen_keys(type, "causal_chunk", "the causal alignment at T < S", 3, 7).causal().build());
  probes.push_back(
      seen_keys(type, "causal_decode", "the causal alignment at T = 1", 1, 5).causal().build());
  probes.push_back(
      seen_keys(type, "causal_more_queries", "the causal alignment and empty rows at T > S", 5, 3)
          .causal()
          .build());
  probes.push_back(seen_keys(type, "causal_top_left", "a declared top-left alignment", 3, 6)
                       .causal(CausalAlignment::top_left)
                       .build());
  probes.push_back(
      seen_keys(type, "window", "both edges of a causal window", 7, 7).causal().window(2).build());
  probes.push_back(seen_keys(type, "window_two_sided", "both edges of a two-sided window", 6, 6)
                       .window(2, 1)
                       .build());
  probes.push_back(
      seen_keys(type, "window_decode", "the window at T = 1", 1, 8).causal().window(3).build());
  probes.push_back(
      ProbeBuilder(type, "causal_scores", "causal attention with scores", {.queries = 4, .keys = 6})
          .causal()
          .build());
  return probes;
}

}  // namespace gqa
