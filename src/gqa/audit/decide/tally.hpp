// What an audit has seen so far; merging is associative and commutative.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "gqa/audit/decide/element_decision.hpp"
#include "gqa/audit/decide/error_map.hpp"
#include "gqa/audit/decide/null_outputs.hpp"
#include "gqa/audit/decide/violating_rows.hpp"

namespace gqa {

/// A certified range of a real number.
struct Bounds {
  double lower = 0;
  double upper = 0;

  /// Raises both ends to those of `other`: the range of the larger of the two numbers.
  void raise_to(const Bounds& other) {
    lower = std::max(lower, other.lower);
    upper = std::max(upper, other.upper);
  }
};

/// One element among the worst of an audit.
struct WorstElement {
  std::array<std::int64_t, 4> index{};  ///< [b, h, i, c]
  double output = 0;
  Bounds reference;
  Bounds absolute_error;
  Bounds ulp_error;
  /// What it may be off by, certified: the tolerance; of a model the smaller of likely and worst
  /// case. An upper end of infinity: not known.
  Bounds allowed{0, std::numeric_limits<double>::infinity()};
  Uncertain within = Uncertain::unknown();

  /// The error over what is allowed, at most; infinite if nothing is.
  double share() const;

  /// Is there an error in ulp? Not if the output or what it should be is NaN or infinite.
  bool is_measured() const { return ulp_error.upper > 0 || within.certainly(); }
};

/// Counts, extremes and places of the elements decided.
///
/// Every field is a sum of integers, a maximum, or a list kept in a total order, so that
/// the same elements give the same tally in whatever blocks and order they came: threads,
/// a journal and other machines may merge it alike.
struct AuditTally {
  static constexpr std::size_t worst_kept = 10;
  /// Mean ulp errors are summed as integers of this unit, so that addition is associative.
  static constexpr double ulp_unit = 0x1p-20;

  std::int64_t elements = 0;
  std::int64_t decided_by_filter = 0;
  std::int64_t decided_by_enclosure = 0;
  std::int64_t decided_exactly = 0;
  std::int64_t violations = 0;
  std::int64_t proved_violations = 0;
  std::int64_t undecided = 0;
  std::int64_t not_finite_references = 0;  ///< undecided: a visible operand is not finite
  std::int64_t self_checked = 0;  ///< rows of the filter that enclosures were asked of as well
  std::int64_t measured = 0;      ///< elements with an ulp error (finite both sides)
  Bounds max_absolute_error;
  Bounds max_ulp_error;
  double max_share = 0;  ///< of an element's error over its allowance, at most
  NullCounts nulls;
  std::int64_t ulp_sum_high = 0;  ///< the sum of ulp errors is high * 2^32 + low units
  std::int64_t ulp_sum_low = 0;
  std::vector<WorstElement> worst;              ///< falling share, then rising index
  std::vector<std::int64_t> head_violations;    ///< [B * Hq]
  std::vector<std::int64_t> row_violations;     ///< [T]
  std::vector<std::int64_t> column_violations;  ///< [dv]
  ViolatingRows violating_rows;                 ///< every one
  ErrorMap error_map;                           ///< keeps something only where it was asked for

  AuditTally(std::int64_t batch, std::int64_t heads, std::int64_t rows, std::int64_t columns);

  /// Joins one element's certified errors: maxima, and the mean through `midpoint`, the
  /// error in ulps at the middle of its range.
  void add_errors(const Bounds& absolute_error, const Bounds& ulp_error, double midpoint) {
    add_errors(absolute_error, ulp_error, units_of(midpoint), 1);
  }
  /// Joins the maxima, and the sum of units_of(midpoint), of `count` elements.
  void add_errors(const Bounds& absolute_error, const Bounds& ulp_error, std::int64_t units,
                  std::int64_t count) {
    max_absolute_error.raise_to(absolute_error);
    max_ulp_error.raise_to(ulp_error);
    add_ulps(units);
    measured += count;
  }
  /// An error in ulps as an integer of ulp_unit, rounded. Beyond 2^40 ulp (or NaN) a mean says
  /// nothing; the maximum still tells.
  static std::int64_t units_of(double ulps) {
    return static_cast<std::int64_t>(std::min(0x1p40, ulps) / ulp_unit + 0.5);
  }
  /// Would an element within tolerance that takes this share of its allowance be among the worst?
  bool may_be_worst(double share) const {
    return share > 0 && (worst.size() < worst_kept ||
                         (!worst.back().within.certainly_not() && share >= worst.back().share()));
  }
  /// Keeps the element if it is among the worst.
  void add_worst(const WorstElement& element);
  void add_violation(std::int64_t batch_head, std::int64_t row, std::int64_t column);
  void merge(const AuditTally& other);
  double mean_ulp() const;
  /// From here on `error_map` keeps what is added, by head and row.
  void keep_error_map();

 private:
  // Adds non-negative units to the sum of ulp errors.
  void add_ulps(std::int64_t units) {
    constexpr int low_bits = 32;
    ulp_sum_low += units;
    ulp_sum_high += ulp_sum_low >> low_bits;
    ulp_sum_low &= (std::int64_t{1} << low_bits) - 1;
  }
};

}  // namespace gqa
