// Which smallest sets of faults explain recorded outputs.
#pragma once

#include <span>

#include "gqa/diagnose/explain/explanation.hpp"

namespace gqa {

/// The smallest sets of at most `largest_set` faults under which all rows of all cases match, each
/// set with one parameter per fault, and which say something (Refutation). One fault under any of
/// the `tolerances`, tight to loose, comes before two under a tighter one; sets with a sum of few
/// bits come last of all, since that is a precision, too. What is measured is tried like the
/// catalogue. Where a set fits under a stated tolerance and says nothing, the tolerance is as wide
/// as the outputs, and larger sets are not tried. Of several explanations those are left out that
/// fit the data far worse than another.
///
/// The tolerances of the cases themselves are not read. The declared contract must be refuted by
/// some row.
SearchResult search_explanations(std::span<const DiagnosisCase> cases,
                                 std::span<const Tolerance> tolerances, const Measurement& measure,
                                 const SearchOptions& options = {});

}  // namespace gqa
