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
  std::optional<std::vector<std::int64_t>> lengths = {};  ///< one per batch entry, or one for all
  std::optional<std::vector<double>> sink = {};           ///< logit per query head, or one for all
  /// Per query head; empty: the standard ones.
  std::optional<std::vector<double>> alibi_slopes = {};

  bool is_empty() const { return !lengths && !sink && !alibi_slopes; }
};

/// A mask [B, S] over the keys of every batch entry, which broadcasting would take for one of rows,
/// as a mask [B, 1, 1, S].
/// Errors: InputError at "padding_mask": "contract.shape_rank".
std::shared_ptr<const TypedTensor> padding_mask(const TypedTensor& mask);

/// The mask that leaves every batch entry its last `lengths` keys of `keys`: left padding.
std::shared_ptr<const TypedTensor> left_padding_mask(const std::vector<std::int64_t>& lengths,
                                                     std::int64_t keys);

/// nonpad_kv_seqlen, which counts keys from the first on, replaced by left_padding_mask.
/// Errors: InputError at "--left-padding": "contract.left_padding": there are no lengths, or a mask
/// as well.
void count_lengths_from_the_end(ProblemTensors& tensors, const Dimensions& sizes);

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
