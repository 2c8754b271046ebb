// The extents of a problem in JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "gqa/attention/dimensions.hpp"

namespace gqa {

/// {"batch": B, "q_heads": Hq, ...}; `keys` are all, those of the cache (`past`) included.
inline nlohmann::ordered_json sizes_json(const Dimensions& d) {
  return {{"batch", d.batch},       {"q_heads", d.q_heads},
          {"kv_heads", d.kv_heads}, {"queries", d.queries},
          {"past", d.past},         {"keys", d.keys},
          {"key_size", d.key_size}, {"value_size", d.value_size}};
}

}  // namespace gqa
