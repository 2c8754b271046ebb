// Both bounds of a precision model for gradients that rung 1's sums leave open, in binary64.
#pragma once

#include <array>
#include <vector>

#include "gqa/audit/filter/interval_decision.hpp"
#include "gqa/audit/gradients/gradient_enclosure.hpp"
#include "gqa/audit/gradients/gradient_filter.hpp"
#include "gqa/audit/gradients/gradient_likely_sums.hpp"

namespace gqa {

/// Which rows of a gradient are wanted: [rows of the group], [keys].
using WantedRows = std::array<std::vector<char>, 3>;

/// The bounds of whole rows, by the formulas of gradient_likely.hpp and gradient_worst.hpp.
///
/// Both are continuous in what they are made of, so that binary64 gives the likely one within 10^-3
/// and the worst one within 2^-12 of itself, but for what the errors of g.v - delta do: those move
/// an element's bounds by less than the element itself, that is by less than its radius, since
/// every factor in them is a unit roundoff's size. Where the radius is not small against the bounds
/// nothing is said.
class GradientBounds {
 public:
  /// Keeps references. Reads every row that the wanted ones need.
  GradientBounds(const GradientProblem& gradient, const HistoryGradients& found,
                 const PrecisionModel& model, const GradientFormats& formats,
                 const WantedRows& wanted);
  ~GradientBounds();
  GradientBounds(const GradientBounds&) = delete;
  GradientBounds& operator=(const GradientBounds&) = delete;

  struct Element {
    bool is_known = false;    ///< the intervals enclose the bounds
    bool is_bounded = false;  ///< the worst case is a number
    Interval likely;          ///< the smaller of both bounds
    Interval worst;
  };
  /// Was the row wanted? It is not open then.
  bool has(GradientKind kind, std::size_t r) const {
    const std::vector<char>& wanted = moved_[static_cast<std::size_t>(kind)].wanted;
    return !wanted.empty() && wanted[r] != 0;
  }
  /// Precondition: has(kind, r). The exact element is known within `radius`,
  /// its magnitude is in `magnitude`.
  Element element(GradientKind kind, std::size_t r, std::size_t c, double radius,
                  const Interval& magnitude) const;
  /// The likely bound of that element, without what recording it adds.
  double likely_moved(GradientKind kind, std::size_t r, std::size_t c) const {
    const Moved& moved = moved_[static_cast<std::size_t>(kind)];
    return moved.likely[r * moved.width + c];
  }

 private:
  class Reader;
  /// How far elements of one gradient move, [rows, width].
  struct Moved {
    std::size_t width = 0;
    std::vector<double> likely;
    std::vector<double> worst;
    std::vector<char> unbounded;  // [rows]
    std::vector<char> wanted;     // [rows]
    GradientFinish finish;        // of recording it
  };

  std::array<Moved, 3> moved_;
};

}  // namespace gqa
