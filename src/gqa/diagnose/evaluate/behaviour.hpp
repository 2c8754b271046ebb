// What an implementation does with a problem: the declared contract, or an edit of it.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "gqa/attention/attention_problem.hpp"
#include "gqa/diagnose/evaluate/operand_products.hpp"
#include "gqa/diagnose/evaluate/operand_view.hpp"

namespace gqa {

/// How an explicit mask acts on the scores.
enum class MaskUse {
  hide,           ///< what it forbids is not visible: the contract
  added_as_bias,  ///< a boolean mask hides nothing; 1 or 0 is added to the score
  zero_fill,      ///< what it forbids is visible with score 0
};

/// What an empty row (no visible key, no sink) holds.
enum class EmptyOutcome {
  zero,
  nan,
  anything,
  mean_of_all,         ///< of every key's value
  mean_of_once_hidden  ///< of keys hidden by one rule only, NaN if there are none
};

/// How weights come from scores.
enum class SoftmaxForm {
  whole,                     ///< exp(s) / (sum exp(s) + exp(sink)): the contract
  not_rescaled,              ///< running sums over key blocks keep their old maximum's scale
  rescale_inverted,          ///< and are multiplied by exp(new - old) instead of exp(old - new)
  over_queries,              ///< normalised over the rows that see the key
  accumulator_not_rescaled,  ///< nor is the sum of weighted values; the denominator is right
  base_mixed_merge,          ///< shards merged by exp of their base-2 log-sum-exp
  unweighted_merge,          ///< shards merged by their plain mean
};

/// Where an arithmetic step leaves the range of its type and gives NaN.
struct OverflowRules {
  bool softcap = false;        ///< |scale q.k / cap| > ln(largest binary32)
  bool exponential = false;    ///< exp of an unshifted score overflows, or all underflow
  bool dot_product = false;    ///< a partial sum of q.k reaches 65520
  std::int64_t sink_tile = 0;  ///< a sink meets a first tile of that size without a key; 0: off
  bool hidden_key = false;     ///< a hidden key that is not finite spoils the row
  bool hidden_value = false;   ///< a hidden value that is not finite spoils the column
};

/// Keys first to last, both included, whose weight is `share` times what it should be before the
/// weights are normalised: 0 never read, 2 read twice.
struct KeyShare {
  std::int64_t first = 0;
  std::int64_t last = 0;
  double share = 1;
};

/// Documents of a packed problem: rows [starts[n], starts[n + 1]) belong to document n.
struct Documents {
  std::vector<std::int64_t> query_starts;
  std::vector<std::int64_t> key_starts;
  bool operator==(const Documents&) const = default;
};

/// Everything that decides an output, open to edits. Made from a problem by behaviour_of;
/// evaluated by evaluate_row. As made it is the contract; every field that differs from that
/// is an edit.
struct Behaviour {
  // Operands.
  OperandView query;
  OperandView key;
  OperandView value;
  std::optional<OperandView> past_key;
  std::optional<OperandView> past_value;
  std::int64_t written_columns = 0;  ///< columns from here on hold zero
  /// Which recorded element is output [b, h, i, c]; the right walk unless a layout is mistaken.
  OperandView output;
  bool axes_swapped = false;  ///< heads and rows of all views have changed places
  /// A live kernel was given key rows this many widths apart; 1 in recordings.
  std::int64_t key_row_stride_factor = 1;
  /// Shared by all edits of one problem: products of operands that no edit has to take again.
  std::shared_ptr<OperandProducts> products = {};

  // Which head reads what.
  std::vector<std::int64_t> key_head;    ///< [Hq]
  std::vector<std::int64_t> value_head;  ///< [Hq]
  std::vector<std::int64_t> mask_head;   ///< [Hq] index on the mask's head axis

  // Which keys are visible.
  Contract contract;  ///< causal, alignment, window, softcap, scale as declared
  std::optional<std::vector<std::int64_t>> lengths;
  std::optional<Documents> documents;
  std::int64_t length_shortfall = 0;  ///< lengths are this much short, for offsets too
  bool clamp_offset = false;
  bool offset_without_past = false;
  bool causal_only_square = false;
  std::int64_t causal_row_divisor = 1;
  /// Instead of causal and window: keys p + first to p + second, measured from the data.
  std::optional<std::pair<std::int64_t, std::int64_t>> range_override;
  std::vector<KeyShare> key_shares;  ///< measured from the data
  std::int64_t first_block = 0;      ///< keys below this are visible whatever causal and window say
  std::vector<char> first_half_only;  ///< [Hq] or empty: heads that see keys below ceil(N / 2)
  MaskUse mask_use = MaskUse::hide;
  std::optional<Tensor<char>> mask;
  std::optional<Tensor<double>> bias;

  // Scores.
  Ball scale;
  bool score_scaled = true;           ///< false: scores are q.k
  std::optional<Ball> output_factor;  ///< the output is multiplied by it
  std::vector<double> head_factors;   ///< [B * Hq] or empty: and by that of its batch and head
  bool history_is_zero = false;       ///< all keys and values but the newest T read as zeros
  bool softcap_after_mask = false;
  bool softcap_as_product = false;          ///< x tanh(x) instead of c tanh(x), x = s / c
  std::optional<std::vector<Ball>> slopes;  ///< [B * Hq], or [Hq], or [documents * Hq]

  // Softmax and output.
  std::optional<std::vector<double>> sink;  ///< [Hq]
  bool sink_has_value = false;              ///< the value of key 0
  SoftmaxForm softmax = SoftmaxForm::whole;
  std::int64_t block = 0;                    ///< keys of a block or shard of `softmax`
  const FloatFormat* running_sum = nullptr;  ///< the output is summed in this format, in order
  EmptyOutcome empty = EmptyOutcome::zero;
  OverflowRules overflow;

  std::int64_t batch() const { return query.batch; }
  std::int64_t query_heads() const { return query.head_count(); }
  std::int64_t queries() const { return query.rows; }
  std::int64_t past() const { return past_key ? past_key->row_count() : 0; }
  std::int64_t keys() const { return past() + key.row_count(); }  ///< N
  std::int64_t key_size() const { return query.width; }
  std::int64_t value_size() const { return value.width; }
  std::int64_t group() const { return query_heads() / key.head_count(); }

  OperandRow key_row(std::int64_t b, std::int64_t head, std::int64_t j) const {
    return j < past() ? OperandRow(*past_key, b, head, j) : OperandRow(key, b, head, j - past());
  }
  OperandRow value_row(std::int64_t b, std::int64_t head, std::int64_t j) const {
    return j < past() ? OperandRow(*past_value, b, head, j)
                      : OperandRow(value, b, head, j - past());
  }
  double key_at(std::int64_t b, std::int64_t head, std::int64_t j, std::int64_t d) const {
    return j < past() ? past_key->at(b, head, j, d) : key.at(b, head, j - past(), d);
  }
  double value_at(std::int64_t b, std::int64_t head, std::int64_t j, std::int64_t d) const {
    return j < past() ? past_value->at(b, head, j, d) : value.at(b, head, j - past(), d);
  }
};

/// The declared behaviour of a problem; packed problems (cu_seqlens) stay whole.
/// `tensors.output` gives the places to compare and must be there.
/// Errors: those of make_problem and cut_documents.
Behaviour behaviour_of(const ProblemTensors& tensors, const Contract& contract);

}  // namespace gqa
