// What can be read off recorded outputs without a list of faults.
#pragma once

#include <optional>
#include <vector>

#include "gqa/diagnose/explain/row_match.hpp"
#include "gqa/diagnose/faults/fault.hpp"
#include "gqa/diagnose/measure/measured_number.hpp"

namespace gqa {

/// The KV head that fits every row of a query head, head by head; several fit where the
/// histories do not differ, none where something else is wrong.
/// A head that has no row among `wrong`, all of the wrong rows where an audit knows them, fits its
/// own. Result: [Hq] lists of KV heads, ascending. At most `rows` rows of each head are asked.
std::vector<std::vector<std::int64_t>> fitting_heads(const DiagnosisCase& problem,
                                                     const std::vector<RowPlace>& wrong = {},
                                                     std::int64_t rows = 8);

/// The scale in [2^-10, 2^10] times the declared one that fits the rows best, if it fits them, with
/// four standard errors: 1/sqrt(64) or another named number where that fits as well.
std::optional<MeasuredNumber> fitting_scale(const DiagnosisCase& problem,
                                            const std::vector<RowPlace>& wrong);

/// Keys [first, last] relative to a row's position that fit, the same for every row.
struct RelativeRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  friend bool operator==(const RelativeRange&, const RelativeRange&) = default;
};
std::optional<RelativeRange> fitting_range(const DiagnosisCase& problem,
                                           const std::vector<RowPlace>& wrong);

/// The measured scale as a fault, if it is another one than the declared.
std::vector<Fault> measured_scales(const DiagnosisCase& problem,
                                   const std::vector<RowPlace>& wrong);

/// The measurements above, a common factor and the moved ends of a range as faults to be searched
/// with, those that differ from the contract.
std::vector<Fault> measured_faults(const DiagnosisCase& problem,
                                   const std::vector<RowPlace>& wrong);

}  // namespace gqa
