#include "gqa/diagnose/probes/probe_list.hpp"

#include <iterator>

#include "gqa/diagnose/probes/probe_builder.hpp"

namespace gqa {

std::vector<Probe> probes(ElementType type) {
  std::vector<Probe> all;
  for (const auto family : {head_map_probes, visibility_probes, mask_probes, length_probes,
                            score_probes, arithmetic_probes, sink_probes, layout_probes}) {
    std::vector<Probe> some = family(type);
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace gqa
