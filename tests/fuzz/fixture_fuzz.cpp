// Fuzz target: an exact fixture passes, fails with reasons, or is refused by an InputError.
#include <string_view>

#include "fuzz/fuzz_target.hpp"
#include "gqa/error.hpp"
#include "gqa/exact/fixture.hpp"
#include "gqa/io/json.hpp"

GQAVERIFY_FUZZ_TARGET(fixture, ".json") {
  try {
    const nlohmann::json document =
        gqa::parse_json_strictly({reinterpret_cast<const char*>(data), size}, "input");
    gqa::require_moderate_exponents(document, "input");
    const gqa::FixtureReport report = gqa::check_fixture(gqa::read_fixture(document));
    if (report.passed != report.failures.empty()) gqa::fuzz::fail();
  } catch (const gqa::InputError& error) {
    if (error.code().empty()) gqa::fuzz::fail();
  }
  return 0;
}
