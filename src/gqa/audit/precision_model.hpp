// What rounding can explain: how an implementation rounds, and how far that can move it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gqa/audit/likely_bound.hpp"
#include "gqa/audit/worst_bound.hpp"
#include "gqa/num/ball.hpp"
#include "gqa/num/float_format.hpp"

namespace gqa {

/// From tight to loose: all in binary64; all in binary32; binary16 or bfloat16 weights and
/// output with binary32 inside; all in binary16 or bfloat16, stored scores included.
extern const PrecisionModel f64_model;
extern const PrecisionModel f32_model;
extern const PrecisionModel f16_f32_model;
extern const PrecisionModel bf16_f32_model;
extern const PrecisionModel f16_model;
extern const PrecisionModel bf16_model;

/// All presets, from tight to loose.
std::span<const PrecisionModel* const> precision_models();
/// The model of that name, or nullptr. `model_names` lists those there are.
const PrecisionModel* find_precision_model(std::string_view name);
std::vector<std::string_view> model_names();

/// What rounding a result below the normal range of a format can change: half the spacing
/// of the subnormals of binary16 and float8, which hardware does not flush; the smallest
/// normal number of the others, which it may.
double underflow_error(const FloatFormat& format);

/// What one row gives to the bounds, all enclosed: sums over the visible keys, the sink
/// counted as a key whose value is zero.
struct RowRounding {
  std::int64_t key_size = 0;            ///< dk
  std::int64_t visible = 0;             ///< n
  Ball query_norm2;                     ///< |q|_2
  Ball query_norm4_squared;             ///< |q|_4^2
  Ball scale;                           ///< scale, positive
  std::vector<Ball> key_norm2;          ///< |k_j|_2 per visible key
  std::vector<Ball> key_norm4_squared;  ///< |k_j|_4^2 per visible key
  std::vector<Ball> raw_scores;         ///< scale q.k_j, before softcap and bias
  std::vector<Ball> scores;             ///< s_j as exponentiated
  std::vector<Ball> weights;            ///< w_j
  bool plain = true;                    ///< neither softcap nor bias: raw_scores == scores
  std::optional<Ball> sink_score;
  std::optional<Ball> sink_weight;
  const FloatFormat* output_format = &binary32;  ///< in which the output is recorded
};

/// Both bounds of one output element.
struct RoundingBounds {
  Ball likely;
  Ball worst;
};

/// The bounds of THEORY 3 for one row, column by column.
///
/// `worst`: no rounding of that model, in any order of summation, with any number of
/// online-softmax tiles and with parts of the history merged by their log-sum-exp, moves the
/// element further, as long as nothing overflows.
/// `likely`: lambda standard deviations of independent roundings, plus the hard terms. Not a
/// theorem: where a running sum stalls (n u > 2 or so) or many copies of one key round alike,
/// a healthy kernel may be beyond it.
class RoundingBound {
 public:
  RoundingBound(const PrecisionModel& model, const RowRounding& row);

  /// `values[k]` is v_c of the k-th visible key, `output` encloses o_c.
  RoundingBounds column(std::span<const Ball* const> values, const Ball& output) const;

 private:
  Ball variance_of_score(std::size_t k) const;
  WorstBound worst_of_row() const;

  const PrecisionModel& model_;
  const RowRounding& row_;
  Ball largest_score_;
  std::vector<Ball> weighted_variance_;  // w_k^2 sigma_k^2 per visible key
  LikelyRow<Ball> likely_row_;
  std::optional<WorstBound> worst_;
};

}  // namespace gqa
