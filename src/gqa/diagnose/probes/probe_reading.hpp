// What single probe outputs show by themselves.
#pragma once

#include <optional>
#include <string>

#include "gqa/diagnose/probes/probe_run.hpp"

namespace gqa {

// Each reading is nullopt where the output does not have the form that the probe makes, as
// another fault may be in the way. Precondition: the result has an output.

/// The map in words, from probes head_map_keys and head_map_values.
std::optional<std::string> read_key_map(const ProbeResult& result);
std::optional<std::string> read_value_map(const ProbeResult& result);

/// Keys per row from a probe with zero queries and one-hot values: "0-2, 0-3, 0-4"; "none" for
/// a row without any. The same for every head, or nullopt.
std::optional<std::string> read_visible_keys(const ProbeResult& result);
/// The same as the contract has it.
std::string declared_visible_keys(const ProbeResult& result);

/// The scale that fits all rows once the `known` faults are allowed for.
std::optional<double> read_scale(const ProbeResult& result, const Tolerance& tolerance,
                                 std::span<const Fault> known);
/// Are all rows right once the `known` faults are allowed for?
bool holds_with(const ProbeResult& result, const Tolerance& tolerance,
                std::span<const Fault> known);

/// What the first row of causal_more_queries holds: "zero", "NaN", "the mean of all values".
/// nullopt, too, where the adapted probe that was asked has no row without a key.
std::optional<std::string> read_empty_row(const ProbeResult& result);

/// "no effect" or "NaN in the output".
std::optional<std::string> read_leak(const ProbeResult& result);

/// From probe long_sum: "1 to within the type", or the sum.
std::optional<std::string> read_long_sum(const ProbeResult& result);

}  // namespace gqa
