// The worst case: how far no rounding of a model moves an element.
#pragma once

#include <cstdint>

#include "gqa/audit/models/rounding_units.hpp"
#include "gqa/num/ball.hpp"

namespace gqa {

/// What the worst error of one score depends on, and rises with.
struct ScoreMagnitudes {
  std::int64_t key_size = 0;  ///< dk
  bool plain = true;          ///< neither softcap nor bias
  Ball scale;                 ///< positive
  Ball query_norm2;           ///< |q|_2
  Ball key_norm2;             ///< |k_j|_2
  Ball raw;                   ///< |scale q.k_j|
  Ball score;                 ///< |s_j|
  Ball softcap;               ///< c; 0: none
  Ball bias;                  ///< |mask_j| + |slope distance_j| where both are added, else 0
};
Ball largest_score_error(const PrecisionModel& model, const ScoreMagnitudes& magnitudes);
/// The part of it that is underflow's.
Ball score_underflow(const PrecisionModel& model, const ScoreMagnitudes& magnitudes);

/// The extremes of one row over its visible keys and the sink. The bound rises with each.
struct RowExtremes {
  std::int64_t visible = 0;  ///< n, without the sink
  bool sink = false;
  Ball score_error;  ///< D: largest_score_error of any key
  Ball distance;     ///< largest |s_j - max s|
  Ball magnitude;    ///< largest |s_j|
};

/// E, the worst error of an exponent as exp takes it, largest over the keys.
Ball largest_exponent_error(const PrecisionModel& model, const RowExtremes& row);

/// What the bound needs of one column.
struct ColumnMagnitudes {
  Ball output;   ///< |o_c|
  Ball mean;     ///< sum w_j |v_jc|
  Ball largest;  ///< largest |v_jc|
};

/// RoundingBounds::worst of the elements of one row: no rounding of that model, in any order of
/// summation, with any number of online-softmax tiles and with parts of the history merged by their
/// log-sum-exp, moves an element further, as long as nothing overflows.
class WorstBound {
 public:
  WorstBound(const PrecisionModel& model, const RowExtremes& row);

  /// A computed denominator may vanish for all that the model says: then nothing is bounded.
  Uncertain is_bounded() const { return less(Ball(0), denominator_least_); }
  /// Not finite unless certainly bounded.
  Ball operator()(const ColumnMagnitudes& column, const FormatRounding& recorded) const;

 private:
  const PrecisionModel& model_;
  Ball numerator_error_;     // alpha: relative to each term
  Ball denominator_error_;   // beta
  Ball denominator_least_;   // a lower bound of computed / exact denominator
  Ball tiny_amplification_;  // of the underflow of one weight
};

}  // namespace gqa
