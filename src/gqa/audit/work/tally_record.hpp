// A tally as JSON, exactly: the form in which journals keep it and machines exchange it.
#pragma once

#include <nlohmann/json.hpp>

#include "gqa/audit/decide/tally.hpp"

namespace gqa {

/// Integers as numbers, every binary64 as its bits in 16 hexadecimal digits (NaN keeps its
/// payload), counts of violations as pairs of index and count where they are not zero; the error
/// map beside, if the tally keeps one.
nlohmann::json tally_record(const AuditTally& tally);

/// The tally of such a record; `empty` states the axes.
/// Errors: InputError "tally.record" at the field's name.
AuditTally read_tally(const nlohmann::json& record, const AuditTally& empty);

}  // namespace gqa
