// What rounding can explain: how an implementation rounds, and how far that can move it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gqa/num/ball.hpp"
#include "gqa/num/float_format.hpp"

namespace gqa {

/// How an implementation rounds, as unit roundoffs of its steps (THEORY 3).
struct PrecisionModel {
  std::string_view name;
  double score;          ///< u_s: accumulation of query . key
  double stored_score;   ///< u_q: scores stored between steps; 0: not stored
  double exponential;    ///< u_e: exp and its argument
  double denominator;    ///< u_l: the sum of the weights' numerators
  double weight;         ///< u_p: the weights before the second product
  double accumulation;   ///< u_a: the second product
  double output;         ///< u_o: the output
  int minimum_exponent;  ///< of the narrowest format inside: smallest normal 2^e
  double lambda = 6;     ///< standard deviations that count as likely
};

/// binary32 throughout, scores kept in registers.
extern const PrecisionModel f32_model;

/// The model of that name, or nullptr. `model_names` lists those there are.
const PrecisionModel* find_precision_model(std::string_view name);
std::vector<std::string_view> model_names();

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
};

/// Both bounds of one output element.
struct RoundingBounds {
  Ball likely;
  Ball worst;
};

/// The bounds of THEORY 3 for one row, column by column.
///
/// `worst`: no rounding of that model, in any order of summation and with any number of
/// online-softmax tiles, moves the element further, as long as nothing overflows.
/// `likely`: lambda standard deviations of independent roundings, plus the hard terms.
class RoundingBound {
 public:
  RoundingBound(const PrecisionModel& model, const RowRounding& row);

  /// `values[k]` is v_c of the k-th visible key, `output` encloses o_c.
  RoundingBounds column(std::span<const Ball* const> values, const Ball& output) const;

 private:
  Ball score_variance(std::size_t k) const;
  Ball worst_relative() const;

  const PrecisionModel& model_;
  const RowRounding& row_;
  Ball largest_score_;
  std::vector<Ball> weighted_variance_;  // w_k^2 sigma_k^2 per visible key
  Ball sink_variance_;
  Ball score_deviation_;  // sd_w(s)
  Ball worst_relative_;
};

}  // namespace gqa
