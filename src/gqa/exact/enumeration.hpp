// The enumeration: grouped lookup equals consecutive expansion, case by case.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gqa/attention/attention.hpp"
#include "gqa/exact/weight_family.hpp"

namespace gqa {

enum class Engine { gmp, boost };

/// One case: a pair of head counts and a weight family.
struct EnumerationCase {
  std::int64_t q_heads;
  std::int64_t kv_heads;
  std::size_t family;  ///< index into weight_families
};

/// What one case showed.
struct CaseOutcome {
  bool equal = false;        ///< direct lookup == consecutive expansion, exactly
  bool map_differs = false;  ///< h mod Hkv is another map than floor(h / (Hq/Hkv))
  bool detected = false;     ///< the outputs under h mod Hkv differ from the direct ones
};

/// Counts over cases; merging is associative, so the order of work does not matter.
struct EnumerationResult {
  std::int64_t max_heads = 0;
  std::int64_t pairs = 0;
  std::int64_t fixtures = 0;
  std::int64_t cases = 0;
  std::int64_t equal = 0;
  std::int64_t map_differs = 0;
  std::int64_t map_coincides = 0;
  std::int64_t detected = 0;
  std::int64_t false_alarms = 0;  ///< maps coincide and yet the outputs differ
  std::vector<std::string> failures;

  /// Everything that was asked for holds, and there was something to ask.
  bool holds() const {
    return cases > 0 && equal == cases && detected == map_differs && false_alarms == 0 &&
           map_differs + map_coincides == cases;
  }
};

/// Every Hq from 1 to max_heads, every positive divisor Hkv, every weight family.
std::vector<EnumerationCase> enumeration_cases(std::int64_t max_heads);

/// The operands of a case: 1 batch entry, 1 query position, 4 keys, 3 value
/// coordinates; strengths from the family, values that differ between KV heads:
/// v[g][j] = (10 g + j, (j+1)/(g+2), (-1)^j (g+1) + 1/(j+1)).
/// The first coordinate tells any two KV heads apart under any weights.
template <class R>
Problem<ExactNumbers<R>> case_problem(const EnumerationCase& which);

/// Evaluates one case: grouped, expanded, interleaved.
template <class R>
CaseOutcome evaluate_case(const EnumerationCase& which);

/// Runs the enumeration in parallel. `progress` is called with the number of finished
/// cases, from any thread, one call at a time.
/// Errors: InputError at "max_heads" with code "enumerate.max_heads" outside 1..512.
EnumerationResult enumerate_cases(std::int64_t max_heads, Engine engine,
                                  const std::function<void(std::int64_t)>& progress = {});

extern template Problem<GmpNumbers> case_problem<Rational>(const EnumerationCase&);
extern template Problem<BoostNumbers> case_problem<BoostRational>(const EnumerationCase&);
extern template CaseOutcome evaluate_case<Rational>(const EnumerationCase&);
extern template CaseOutcome evaluate_case<BoostRational>(const EnumerationCase&);

}  // namespace gqa
