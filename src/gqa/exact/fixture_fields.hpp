// Exact numbers and expected results in fixture documents, and the parts of their reader.
// Private to exact/.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "gqa/exact/fixture.hpp"

namespace gqa {

/// Errors: InputError "fixture.field_type", those of parse_rational and parse_log_rational.
Rational exact_number(const nlohmann::json& value, const std::string& where);
LogRational exact_logarithm(const nlohmann::json& value, const std::string& where);

/// Rank 4; "nan" is marked beside the numbers.
ExpectedTensor expected_tensor(const nlohmann::json& value, const std::string& where);

/// Query, key and value of the problem from the input and weights of `layer`.
/// Errors: "fixture.scores_stated_twice" for an operand that is stated beside it,
/// "contract.shape_mismatch".
void read_layer(const nlohmann::json& document, Fixture& fixture);
/// `other_layers`. Precondition: the layer and its rotary embedding have been read.
void read_other_layers(const nlohmann::json& document, Fixture& fixture);

/// Rotates query and key of the problem, which have been read, and keeps them as stated.
/// Errors: "fixture.rotation", "contract.shape_mismatch", "fixture.missing_field".
void read_rotary_embedding(const nlohmann::json& document, Fixture& fixture);

/// Keys [B, H, S, dk] with their rotary embedding.
Tensor<Rational> rotated_keys(const RotaryOperands& rotary, Tensor<Rational> keys);

/// Positions beyond this are refused: a rational rotation's power has that many digits.
inline constexpr std::int64_t largest_position = 4096;

/// `position_shifts`, `merged`, `online_softmax_tile_sizes` and `gradients`.
/// Precondition: the problem and its rotary embedding have been read.
/// Errors: "fixture.position", "fixture.splits", "fixture.tile_size", "fixture.unknown_field",
/// "fixture.missing_field", "contract.shape_mismatch".
void read_other_ways(const nlohmann::json& document, Fixture& fixture);

/// Errors: InputError "contract.shape_mismatch" at `where`.
void require_shape(const Shape& shape, const Shape& expected, const std::string& where);

/// `expect` and all further claims of a positive fixture.
/// Precondition: the problem has been read.
void read_expectations(const nlohmann::json& document, Fixture& fixture);

}  // namespace gqa
