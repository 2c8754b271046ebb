// Rungs 2 and 3: the reference row in balls, and exactly where it is rational.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gqa/attention/attention.hpp"
#include "gqa/attention/attention_problem.hpp"
#include "gqa/audit/models/precision_model.hpp"

namespace gqa {

/// The operands of one batch entry and KV head as exact balls, ready for any row of the
/// query heads that read it.
class EnclosureReader {
 public:
  /// Keeps a reference to `problem`. Reads the keys that some row may see.
  /// Errors: those of require_ieee_arithmetic().
  EnclosureReader(const AttentionProblem& problem, std::int64_t batch, std::int64_t kv_head);

  /// What is visible to a row, ascending.
  std::vector<std::size_t> visible(std::int64_t head, std::int64_t row) const;

  /// Do the query row, all visible keys and values, sink, slope and bias hold finite
  /// numbers? If not, the
  /// contract gives no number and nothing below may be asked.
  bool is_finite(std::int64_t head, std::int64_t row,
                 const std::vector<std::size_t>& visible) const;

  /// One row's results, owned.
  struct Row {
    std::vector<Ball> scores;   ///< [S], of visible keys
    std::vector<Ball> weights;  ///< [S], of visible keys
    std::vector<Ball> output;   ///< [dv]
  };

  /// The operands of single scores, of visible keys and others; what is not finite gives
  /// balls that are not finite.
  std::vector<Ball> query_balls(std::int64_t head, std::int64_t row) const;
  std::span<const Ball> key_balls(std::size_t key) const { return key_.matrix(0, 0).row(key); }
  std::span<const Ball> value_balls(std::size_t key) const { return value_.matrix(0, 0).row(key); }
  std::size_t keys() const { return key_row_finite_.size(); }
  bool key_is_finite(std::size_t key) const { return key_row_finite_[key] != 0; }
  /// What is added to the score of a key after softcap; by exact_bias exactly, nullopt if it is no
  /// number; by bias_magnitude what sums of its terms on the way may reach.
  /// Precondition: the mask does not hide the key.
  std::optional<Rational> exact_bias(std::int64_t head, std::int64_t row, std::size_t key) const;
  Ball bias_magnitude(std::int64_t head, std::int64_t row, std::size_t key) const;

  /// One key's score after each step. Steps behind the last one asked for change nothing.
  struct Scores {
    Ball scaled;
    Ball softcapped;
    Ball score;
  };
  /// At the thread's precision, for a `query` of query_balls. Precondition, if `last` is biased:
  /// the bias is a number.
  Scores scores(std::span<const Ball> query, std::int64_t head, std::int64_t row, std::size_t key,
                ScoreStage last = ScoreStage::biased) const;

  /// The row's result at the thread's precision. Precondition: is_finite.
  Row row(std::int64_t head, std::int64_t row, const std::vector<std::size_t>& visible) const;
  /// The same, of the output these columns alone; the others are no numbers.
  Row row(std::int64_t head, std::int64_t row, const std::vector<std::size_t>& visible,
          std::span<const std::int64_t> columns) const;

  /// What a precision model needs to know of the row. Precondition: is_finite, not empty.
  RowRounding rounding(const PrecisionModel& model, std::int64_t head, std::int64_t row,
                       const std::vector<std::size_t>& visible, const Row& result) const;

  /// v_c of the visible keys, for RoundingBound::column.
  std::vector<const Ball*> value_column(const std::vector<std::size_t>& visible,
                                        std::int64_t column) const;

  /// The mean of a value column over all keys of the history, invisible ones too, exactly:
  /// what EmptyRow::mean demands. nullopt if a value is not finite or there is no key.
  std::optional<Rational> mean_of_all(std::int64_t column) const;

  /// The exact output element if it is rational, otherwise nullopt (then it is
  /// irrational, and doubling the precision decides every comparison with a rational).
  ///
  /// The output equals a rational c exactly if sum exp(s_j) (v_j - c) = 0. Exponentials of
  /// distinct algebraic numbers are linearly independent over the algebraic numbers
  /// (Lindemann-Weierstrass), so that is: within every group of equal scores the mean of v
  /// is c, and a sink whose score no key shares forces c = 0. With a softcap the scores
  /// are not algebraic and the answer is nullopt without meaning irrational.
  /// Precondition: is_finite, not empty.
  std::optional<Rational> rational_output(std::int64_t head, std::int64_t row,
                                          const std::vector<std::size_t>& visible,
                                          std::int64_t column) const;

 private:
  BiasTerms bias_of(std::int64_t head, std::int64_t row, std::size_t key) const;
  /// With these values [S, width], of which the output has as many columns.
  Row row_of(std::int64_t head, std::int64_t row, const std::vector<std::size_t>& visible,
             std::span<const Ball> values, std::size_t width) const;

  const AttentionProblem& problem_;
  std::int64_t batch_;
  std::int64_t kv_head_;
  Tensor<Ball> key_;                     // [1, 1, S, dk]
  Tensor<Ball> value_;                   // [1, 1, S, dv]
  std::vector<std::int64_t> key_kinds_;  // [S]: equal keys have the same
  std::vector<char> key_row_finite_;     // [S]: the key row holds finite numbers
  std::vector<char> key_finite_;         // [S]: and so does the value row
};

}  // namespace gqa
