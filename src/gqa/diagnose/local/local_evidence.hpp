// What is at hand when the place and the reason of a local fault are looked for.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gqa/diagnose/explain/explanation.hpp"
#include "gqa/diagnose/explain/region.hpp"

namespace gqa {

/// One output, its wrong rows and some right ones beside them.
struct LocalEvidence {
  const DiagnosisCase& problem;
  const WrongRows& wrong;
  Region region;                    ///< region_of(wrong)
  std::vector<RowPlace> witnesses;  ///< some wrong rows of every stratum, the first few alone first
  std::vector<RowPlace> right;      ///< some right rows, those beside wrong ones first
};

LocalEvidence local_evidence(const DiagnosisCase& problem, const WrongRows& wrong);

/// What was found of a region in words, once it is known where it ends.
using SentenceOfRegion = std::function<std::string(const Region&)>;

/// The explanation that `faults` hold in a region of their own, if every witness agrees and the
/// rows of that region are right under them (confirmed_in_region). The region is that of the wrong
/// rows, and wider where right rows agree as well: a fault that does not show in some rows of a
/// head is a fault of the head. `part`: keys or columns that the faults are about.
std::optional<Explanation> confirmed_explanation(const LocalEvidence& evidence, const Fault& fault,
                                                 const Region& part,
                                                 const SentenceOfRegion& sentence);

/// Does every one of the first `count` witnesses hold what the behaviour gives?
bool witnesses_match(const LocalEvidence& evidence, const Behaviour& behaviour, std::size_t count);

/// " in rows 3 to 5 of batch 1"; empty where nothing is restricted.
std::string in_place(const Region& region);

}  // namespace gqa
