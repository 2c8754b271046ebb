// The attention contract as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "gqa/attention/contract.hpp"

namespace gqa {

/// Reads the fields of docs/contract.md, "Stating it", into `contract`, leaving absent ones as they
/// are. Numbers may be JSON numbers of up to 17 digits (taken as the decimal they are
/// written as; longer ones are rounded to that) or strings holding exact numbers. A window may be
/// stated in a dialect's word instead, such as sliding_window; make_problem settles what it and the
/// dialect mean, so that neither the order of the fields nor of several objects matters.
///
/// Errors: InputError at "`where`: field" with code "contract.unknown_field",
/// "contract.field_type", "contract.unknown_value", "contract.window_stated_twice", those of
/// parse_rational and of validate(Contract).
void read_contract(const nlohmann::json& object, Contract& contract, const std::string& where);

/// Every field, defaults spelled out; read_contract reads it back.
nlohmann::ordered_json to_json(const Contract& contract);

}  // namespace gqa
