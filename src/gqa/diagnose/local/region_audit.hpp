// A hypothesis confirmed in every row of its region, at the speed of an audit.
#pragma once

#include <cstdint>
#include <optional>

#include "gqa/diagnose/explain/region.hpp"
#include "gqa/diagnose/explain/row_match.hpp"

namespace gqa {

/// What became of a hypothesis.
struct Confirmation {
  bool holds = false;
  std::int64_t rows = 0;            ///< compared
  std::int64_t certified_rows = 0;  ///< of those, by the certified filter
};

/// Is every recorded row of `region` (its keys and columns aside) what `behaviour` gives, under the
/// case's tolerance? The rows are gathered into a problem of their own, whose declared contract is
/// the behaviour, and audited. nullopt: no contract says what the behaviour does (a softmax of
/// another form, positions of ALiBi in rows apart).
std::optional<Confirmation> audited_region(const DiagnosisCase& problem, const Behaviour& behaviour,
                                           const Region& region);

/// The same; where no contract says it, row by row in binary64 (and by enclosures where those rows
/// have few keys), as many rows as have `largest_work` multiplications together, spread over the
/// region.
Confirmation confirmed_in_region(const DiagnosisCase& problem, const Behaviour& behaviour,
                                 const Region& region, std::int64_t largest_work = 400'000'000);

}  // namespace gqa
