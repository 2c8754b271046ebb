#include "gqa/theory/rank_configuration.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gqa/error.hpp"

namespace gqa {
namespace {

void require_extent(std::int64_t value, const char* name) {
  if (value >= 1 && value <= largest_rank_extent) return;
  throw InputError("rank.extent", name,
                   fmt::format("{} is not in 1..{}", value, largest_rank_extent));
}

}  // namespace

std::int64_t RankConfiguration::head_size() const {
  return std::min(value_size, model_size.value_or(value_size));
}

void validate(const RankConfiguration& configuration) {
  require_extent(configuration.group_size, "group_size");
  require_extent(configuration.positions, "positions");
  require_extent(configuration.value_size, "value_size");
  require_extent(configuration.key_size, "key_size");
  if (configuration.model_size) require_extent(*configuration.model_size, "model_size");
  validate_window(configuration);
  const std::int64_t widest = std::max(configuration.value_size, configuration.key_size);
  // Products of two accepted extents fit 64 bits; the third is divided instead.
  if (configuration.positions * widest > largest_rank_elements / configuration.group_size) {
    throw InputError(
        "rank.too_large", "positions",
        fmt::format("positions x group size x width is beyond {}", largest_rank_elements));
  }
}

void validate_window(const RankConfiguration& configuration) {
  if (configuration.window && *configuration.window < 1) {
    throw InputError("rank.window", "window",
                     fmt::format("{} keys are no window", *configuration.window));
  }
}

std::string describe(const RankConfiguration& configuration) {
  std::string text =
      fmt::format("{} query heads on one history of {} positions, keys of {}, values of {}",
                  configuration.group_size, configuration.positions, configuration.key_size,
                  configuration.value_size);
  if (configuration.model_size) text += fmt::format(", model of {}", *configuration.model_size);
  if (configuration.causal) text += "; causal";
  if (configuration.window) text += fmt::format("; window of {}", *configuration.window);
  if (configuration.tied) text += "; tied patterns";
  if (configuration.constant_column) text += "; one constant value column";
  text += configuration.softmax_reachable ? "; patterns by softmax over shared keys"
                                          : "; row-stochastic patterns";
  return text;
}

Contract visibility_contract(const RankConfiguration& configuration) {
  Contract contract;
  contract.causal = configuration.causal;
  if (configuration.window) {
    contract.window = {*configuration.window - 1, *configuration.window - 1};
  }
  return contract;
}

}  // namespace gqa
