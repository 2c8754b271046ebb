// Rows without a visible key under EmptyRow::mean: every key of the history weighs the same.
#pragma once

#include "gqa/audit/enclose/audited_element.hpp"
#include "gqa/audit/enclose/enclosure.hpp"

namespace gqa {

/// What the precision models need of a row of `keys` equal scores: an implementation that
/// fills masked scores with one finite number takes a softmax of those.
RowRounding equal_score_rounding(std::int64_t keys);

/// Decides one output element of such a row and states what is known of it. Open where a value of
/// the history is not finite, or there is no key: then no mean exists.
void settle_mean(AuditedElement& element, const EnclosureReader& reader,
                 const AuditOptions& options);

}  // namespace gqa
