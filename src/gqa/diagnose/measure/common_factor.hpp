// Outputs that are multiples of what they should be.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gqa/diagnose/explain/row_match.hpp"
#include "gqa/diagnose/faults/fault.hpp"
#include "gqa/diagnose/measure/measured_number.hpp"

namespace gqa {

/// The sizes whose roots and reciprocals a factor or a scale may be: dk, dv, Hq, Hkv and others.
std::vector<std::int64_t> sizes_of(const Behaviour& behaviour);

/// What the declared output of a batch entry and query head is multiplied by.
struct CommonFactors {
  std::string per;                     ///< "", "batch entry", "KV head", "query head", or both
  std::vector<MeasuredNumber> groups;  ///< one for each of these, in order
  std::vector<double> of_head;         ///< [B * Hq]
};

/// The fewest factors other than one (one for all, then by batch entry, KV head, query head, batch
/// entry and KV head) that take the declared output of the `wrong` rows, and of some others, to
/// the recorded one; nullopt if there are none.
std::optional<CommonFactors> fitting_output_factors(const DiagnosisCase& problem,
                                                    const std::vector<RowPlace>& wrong);

/// "scale.output (36.9)", "scale.output (1/2, 36.9 by KV head)".
std::optional<Fault> output_factor_fault(const DiagnosisCase& problem,
                                         const std::vector<RowPlace>& wrong);

}  // namespace gqa
