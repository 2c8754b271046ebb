// The likely bound of a precision model between two cheap ones, from a tile's sums.
#pragma once

#include "gqa/audit/filter.hpp"
#include "gqa/audit/interval_decision.hpp"
#include "gqa/audit/precision_model.hpp"

namespace gqa {

/// How the recorded output was rounded: PrecisionModel::output_roundoff and _underflow.
struct FormatRounding {
  double roundoff;
  double underflow;
};

/// Encloses RoundingBounds::likely for the elements of one row of a filter tile.
///
/// RoundingBound::column needs sums over the keys of each column that no product gives
/// cheaply. With a^2 = sum w^2 v^2 (the third product), b^2 = sum w^2 and A >= |v|:
///   lower: sigma_j^2 >= u_s^2 dk/6 q4 min k4 + 4 u_e^2/3 for every key, and by Minkowski
///          sum w^2 (v - o)^2 >= (a - |o| b)^2; every other term is at least zero;
///   upper: the same with max k4 and (a + |o| b)^2, while the terms in s_j^2 and x_j^2 are
///          at most (A + |o|)^2 times sum w^2 s^2 and sum w^2 x^2; sd_w(v) <= A; coherences
///          are at most one, and sums of |v| at most n A.
/// What lies between the two is for the next rung. A factor of 10^-3 on both sides covers
/// that the row's sums are themselves computed in binary64 and binary32 (THEORY 3).
class LikelyInterval {
 public:
  /// `plain`: neither softcap nor bias nor sink, as the sums assume; otherwise the interval
  /// is [0, infinity) and decides nothing.
  LikelyInterval(const PrecisionModel& model, std::int64_t key_size, const FormatRounding& output,
                 const FilterTile& tile, std::size_t row, bool plain);

  Interval operator()(std::int64_t column, double radius) const;

 private:
  const PrecisionModel& model_;
  FormatRounding output_;
  const FilterTile& tile_;
  std::size_t row_;
  bool usable_;
  double n_ = 0;
  double b_ = 0;             // sqrt(sum w^2)
  double least_sigma2_ = 0;  // of any key, without the terms in s and x
  double most_sigma2_ = 0;
  double score_sum_ = 0;  // sum w^2 times the terms in s and x of sigma^2
  double common_ = 0;     // (u_s + u_e) sd_w(s)
};

}  // namespace gqa
