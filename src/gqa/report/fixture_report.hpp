// Reports on exact fixtures, for people and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gqa/exact/enumeration_crosscheck.hpp"
#include "gqa/exact/fixture.hpp"

namespace gqa {

struct FixtureSummary {
  std::int64_t passed = 0;
  std::int64_t failed = 0;
  std::size_t malformed = 0;  ///< of the failed ones: files that could not be read
  bool floats_hold = true;    ///< of the enumeration's cases, where they were checked

  /// Nothing failed, and there was something to check.
  bool holds() const { return passed > 0 && failed == 0 && floats_hold; }
};

FixtureSummary summarise(const std::vector<FixtureReport>& reports,
                         const std::optional<EnumerationCrossCheck>& cases);

/// One line per failure (with `verbose`: per fixture, and its exact outputs), the float
/// formats with largest error and derived tolerance, and a last line with the verdict.
std::string fixture_text(const std::vector<FixtureReport>& reports,
                         const std::optional<EnumerationCrossCheck>& cases, bool verbose);

/// "gqaverify.verify/1", as docs/json.md states it.
nlohmann::ordered_json fixture_json(const std::vector<FixtureReport>& reports,
                                    const std::optional<EnumerationCrossCheck>& cases);

}  // namespace gqa
