// Probes of memory layouts, strides and widths.
#include "gqa/diagnose/probes/probe_builder.hpp"

namespace gqa {

std::vector<Probe> layout_probes(ElementType type) {
  std::vector<Probe> probes;
  probes.push_back(ProbeBuilder(type, "bshd", "BSHD tensors", {.queries = 5, .keys = 5})
                       .layout(Layout::bshd)
                       .build());
  probes.push_back(
      ProbeBuilder(type, "bsh", "heads folded into the last axis", {.queries = 3, .keys = 4})
          .layout(Layout::bsh)
          .build());
  probes.push_back(ProbeBuilder(type, "value_size", "values narrower than keys",
                                {.queries = 2, .keys = 5, .key_size = 4, .value_size = 3})
                       .build());
  probes.push_back(
      ProbeBuilder(type, "batch", "three batch entries", {.batch = 3, .queries = 2, .keys = 3})
          .build());
  probes.push_back(ProbeBuilder(type, "strided_keys", "key rows that do not lie side by side",
                                {.queries = 2, .keys = 4})
                       .key_row_stride_factor(2)
                       .build());
  return probes;
}

}  // namespace gqa
