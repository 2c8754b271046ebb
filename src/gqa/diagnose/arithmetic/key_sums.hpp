// The sums over keys: their order, tiles and parts, and their accumulator.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gqa/diagnose/arithmetic/accumulator.hpp"
#include "gqa/diagnose/arithmetic/entry.hpp"
#include "gqa/diagnose/arithmetic/experiments.hpp"
#include "gqa/diagnose/arithmetic/running_maximum.hpp"
#include "gqa/diagnose/arithmetic/sum_order.hpp"

namespace gqa {

/// One order over keys that every probe allows. `running`: the maximum is taken tile by tile, with
/// rescaled sums; otherwise over whole rows first.
struct KeyOrder {
  SumOrder sums;
  bool running = true;
};

struct KeySums {
  std::vector<PathReading> paths;
  std::vector<MaximumScope> scopes;
  std::vector<KeyOrder> orders;  ///< every one that fits
  std::optional<Accumulator> accumulator;
  std::optional<int> fused_precision;  ///< bits that terms of one fused block keep
  std::string reason;                  ///< why nothing was read, if so

  /// order, tile, splits, merge, accumulator and its rounding
  std::vector<ArithmeticEntry> entries() const;
};

/// All keys score the same, so that every weight is 1 before it is normalised and the kernel adds
/// the values in its own order. 8 to 20 calls.
KeySums read_key_sums(Experiments& experiments);

}  // namespace gqa
