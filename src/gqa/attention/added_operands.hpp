// Operands that a recording lacks, stated in a few numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gqa/attention/dimensions.hpp"
#include "gqa/attention/problem_tensors.hpp"

namespace gqa {

/// Operands put beside those of a recording, in the place of those that it holds.
struct AddedOperands {
  std::optional<std::vector<std::int64_t>> lengths;  ///< one per batch entry, or one for all
  std::optional<std::vector<double>> sink;           ///< logit per query head, or one for all
  /// Per query head; empty: the standard ones.
  std::optional<std::vector<double>> alibi_slopes;

  bool is_empty() const { return !lengths && !sink && !alibi_slopes; }
};

/// The slopes of the ALiBi paper: of n = 2^k heads head h has 2^(-8 (h + 1) / n); of a number
/// between n and 2 n the first n have those, the others every second one of 2 n heads.
/// Source: O. Press, N. A. Smith, M. Lewis, "Train Short, Test Long", ICLR 2022, and its code,
/// get_slopes.
std::vector<double> standard_alibi_slopes(std::int64_t heads);

/// Puts the operands among the tensors.
/// Errors: InputError at "lengths", "sink" or "alibi": "contract.operand_count": neither one number
/// nor one for each.
void add_operands(ProblemTensors& tensors, const AddedOperands& added, const Dimensions& sizes);

/// "standard" or numbers joined by commas. Errors: InputError "contract.numbers" at `where`.
std::vector<double> parse_slopes(std::string_view text, const std::string& where);
std::vector<double> parse_numbers(std::string_view text, const std::string& where);
std::vector<std::int64_t> parse_lengths(std::string_view text, const std::string& where);

}  // namespace gqa
