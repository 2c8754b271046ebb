// Rows without a visible key under EmptyRow::mean: every key of the history weighs the same.
#pragma once

#include "gqa/audit/enclosure.hpp"
#include "gqa/audit/verdict.hpp"

namespace gqa {

/// What the precision models need of a row of `keys` equal scores: an implementation that
/// fills masked scores with one finite number takes a softmax of those.
RowRounding equal_score_rounding(std::int64_t keys);

/// Decides one output element of such a row; `reference` receives the exact mean, enclosed.
/// Open where a value of the history is not finite, or there is no key: then no mean exists.
ElementDecision decide_mean(const EnclosureReader& reader, std::int64_t column, double output,
                            const FloatFormat& format, const Tolerance& tolerance,
                            const FormatRounding& recorded, Ball& reference);

}  // namespace gqa
