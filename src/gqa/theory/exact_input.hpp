// Exact vectors and matrices from flags and from JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "gqa/attention/tensor.hpp"
#include "gqa/theory/rational_matrix.hpp"

namespace gqa {

/// "3,1/2" and "4,0;0,8": commas between numbers, semicolons between rows.
/// Errors: InputError at "`where`[row][column]", those of parse_rational; "exact_input.ragged" at
/// "`where`[row]".
RationalVector parse_vector(std::string_view text, const std::string& where);
RationalMatrix parse_matrix(std::string_view text, const std::string& where);

/// A nested list of `rank` levels; numbers are JSON integers or strings of exact numbers.
/// Errors: InputError at the place: "fixture.ragged", "fixture.field_type", those of
/// parse_rational.
Tensor<Rational> tensor_from_json(const nlohmann::json& value, std::size_t rank,
                                  const std::string& where);

/// The last axis of a tensor as rows: [.., n, d] as so many matrices of n rows.
RationalVector to_vector(const Tensor<Rational>& tensor);
RationalMatrix to_matrix(const Tensor<Rational>& tensor);
RationalMatrices to_matrices(const Tensor<Rational>& tensor);

}  // namespace gqa
