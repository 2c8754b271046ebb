// The place and the reason of a fault in one region.
#pragma once

#include <vector>

#include "gqa/diagnose/local/region_rules.hpp"

namespace gqa {

/// Explanations of an output that is wrong in `wrong` and right elsewhere, cheapest first: what the
/// rows hold, rules of the catalogue, heads, keys and values that they used, measured numbers; the
/// first kind that is confirmed in every row of its region is told. Empty: none of these.
std::vector<Explanation> local_explanations(const DiagnosisCase& problem, const WrongRows& wrong,
                                            Deadline deadline);

}  // namespace gqa
