// Fuzz target: a contract that is read is written and read back the same.
#include <string_view>

#include "fuzz/fuzz_target.hpp"
#include "gqa/error.hpp"
#include "gqa/io/contract_json.hpp"
#include "gqa/io/json.hpp"

GQAVERIFY_FUZZ_TARGET(contract, ".contract.json") {
  gqa::Contract contract;
  try {
    gqa::read_contract(
        gqa::parse_json_strictly({reinterpret_cast<const char*>(data), size}, "input"), contract,
        "input");
  } catch (const gqa::InputError& error) {
    if (!error.where().starts_with("input")) gqa::fuzz::fail();
    return 0;
  }
  const nlohmann::json written = gqa::to_json(contract);
  gqa::Contract again;
  try {
    gqa::read_contract(written, again, "written");
  } catch (const gqa::InputError&) {
    gqa::fuzz::fail();
  }
  if (nlohmann::json(gqa::to_json(again)) != written) gqa::fuzz::fail();
  return 0;
}
