// Fuzz target: what the strict JSON reader takes, the library takes too and reads alike; what it
// refuses, it refuses by an InputError of its own.
#include <nlohmann/json.hpp>
#include <string_view>

#include "fuzz/fuzz_target.hpp"
#include "gqa/error.hpp"
#include "gqa/io/json.hpp"

GQAVERIFY_FUZZ_TARGET(json, ".json") {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const nlohmann::json lenient = nlohmann::json::parse(text, nullptr, false);
  try {
    const nlohmann::json strict = gqa::parse_json_strictly(text, "input");
    if (lenient.is_discarded() || strict != lenient) gqa::fuzz::fail();
    gqa::require_moderate_exponents(strict, "input");
  } catch (const gqa::InputError& error) {
    if (!error.code().starts_with("json.") || !error.where().starts_with("input"))
      gqa::fuzz::fail();
    if (gqa::printable_line(error.what()) != error.what()) gqa::fuzz::fail();
    // The library knows no limits; its syntax is ours.
    if (error.code() == "json.syntax" && !lenient.is_discarded() && text.find('\0') == text.npos) {
      gqa::fuzz::fail();
    }
  }
  return 0;
}
