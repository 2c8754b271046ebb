// What keys that round alike add to the likely bound of one row, between bounds, from binary64.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gqa/audit/filter/interval_decision.hpp"
#include "gqa/audit/models/equal_classes.hpp"
#include "gqa/audit/models/rounding_units.hpp"

namespace gqa {

/// What is known of the row's keys, each by its place among those that some row of the tile sees.
struct EqualRow {
  std::span<const double> scores;        ///< hidden_score: not visible
  std::span<const std::int64_t> keys;    ///< kinds (RowKinds)
  std::span<const std::int64_t> values;  ///< the same
  double score_radius = 0;               ///< |computed score - score|
  bool biased = false;                   ///< equal keys need not have equal scores
  bool exact = false;                    ///< scores are exact
  bool rounds_values = false;            ///< by the model
};

/// Encloses LikelyColumn::equal_classes of one row.
///
/// Scores that differ by less than the radii tell may be equal. Where all are of one key and
/// nothing was added to them they are, and a class adds
///   sigma^2 A_c^2 + u_p^2/3 B_c^2,  A_c = sum w (v_c - o_c), B_c = sum w v_c.
/// With weights known within a factor 1 +- d and o_c within R, A_c is off by at most
///   d (sum w |v_c| + |o_c| sum w) + R sum w,
/// and the root of a sum of such squares by the root of the sum of theirs (Minkowski). Otherwise
/// they may fall into any classes, of which (sum w |v - o|)^2 is a bound in all.
class EqualSums {
 public:
  /// `columns`: those that will be asked for, ascending.
  EqualSums(const EqualRow& row, std::vector<std::size_t> columns);

  /// False where there are so many classes that their sums are not kept.
  bool is_usable() const { return usable_; }
  /// LikelyRow::equal_weights.
  const Interval& weights() const { return sizes_; }
  /// Adds a visible key, with its weight, sigma^2 and values [dv].
  void add(std::size_t key, double weight, double variance, const double* values);

  struct Errors {
    double output = 0;    ///< R
    double weight = 0;    ///< d
    double variance = 0;  ///< of sigma^2, relative
  };
  /// `magnitude`: sum w |v| of the column, or 0 if all of its values differ.
  /// Infinite above for a column that was not named.
  Interval variance(const PrecisionModel& model, std::size_t column, double output,
                    double magnitude, const Errors& errors) const;

 private:
  enum class What : char { scores, keys, values };
  struct Class {
    What what;
    bool certain;
    double weight = 0;
    double variance = 0;  // the largest
  };
  void take(std::vector<EqualClass> classes, std::span<const std::size_t> visible, What what,
            const std::vector<char>& certain);
  void add_class(std::size_t at, double weight, double variance, const double* values);

  std::vector<std::size_t> columns_;
  bool usable_ = true;
  Interval sizes_{0, 0};
  std::vector<Class> classes_;
  std::vector<double> sums_;        // classes x columns: sum w v; of values: v
  std::vector<double> magnitudes_;  // classes x columns: sum w |v|
  // The classes in which a key is, one of each What; -1: none.
  std::vector<std::array<std::int32_t, 3>> of_key_;
};

}  // namespace gqa
