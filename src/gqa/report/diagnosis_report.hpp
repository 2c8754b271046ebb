// A diagnosis in words and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gqa/diagnose/diagnosis.hpp"

namespace gqa {

/// Lines for people, each indented by `indent`: every explanation with its sentences and wrong
/// formulas, what could be measured of what is unexplained, what the inputs cannot tell apart.
/// Empty for status none without anything inseparable.
std::string diagnosis_text(const Diagnosis& diagnosis, const std::string& indent);

/// The faults that these inputs cannot show, as far as people are told of them.
std::vector<std::string> hidden_from_people(const Diagnosis& diagnosis);

/// Of the axes that are restricted: {"rows": [[192, 255]]}, {"rows": {"tile": 64, "every": 2,
/// "first": 1}}; ranges are inclusive.
nlohmann::ordered_json region_json(const Region& region);

/// The object "diagnosis" of "gqaverify.audit/1", as docs/json.md states it.
nlohmann::ordered_json diagnosis_json(const Diagnosis& diagnosis);

}  // namespace gqa
