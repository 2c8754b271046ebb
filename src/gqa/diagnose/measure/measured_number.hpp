// A number read off the data, with the digits that are known of it and what it may stand for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gqa {

struct MeasuredNumber {
  double value = 0;
  double uncertainty = 0;  ///< the number is certain to within that: four standard errors

  bool allows(double number) const;
};

/// The shortest decimal number within the uncertainty: "36.9", "0.0271", "-2".
std::string known_digits(const MeasuredNumber& number);

/// A number that has a name.
struct NamedNumber {
  double value = 0;
  std::string text;  ///< "2", "3/2", "1/sqrt(64)", "log2 e"
};

/// What the number may be: powers of two, quotients of whole numbers up to 8, n, 1/n, sqrt(n) and
/// 1/sqrt(n) of the problem's `sizes`, log2 e and ln 2, each of them within the uncertainty, the
/// simplest first. Empty where the number is known so badly that one of them fits anything.
std::vector<NamedNumber> recognised(const MeasuredNumber& number,
                                    std::span<const std::int64_t> sizes);

/// The name of the number if it has one, otherwise its digits.
std::string describe(const MeasuredNumber& number, std::span<const std::int64_t> sizes);

/// "measured 1.99, known to 0.02": what stands beside a name.
std::string measured_as(const MeasuredNumber& number);

/// Least squares of recorded = x reference over pairs, with four standard errors and the rounding
/// of a constant in a format of unit roundoff `roundoff`. The pairs of one row may err together (a
/// denominator that is a little off moves them all), so that the rows' sums tell the error, too.
class FactorFit {
 public:
  void add(double reference, double recorded);
  /// What is added from here on belongs to another row.
  void end_row();
  std::int64_t pairs() const { return static_cast<std::int64_t>(pairs_.size()); }
  /// nullopt: no reference is other than zero, or something is not finite.
  std::optional<MeasuredNumber> factor(double roundoff) const;

 private:
  std::vector<std::pair<double, double>> pairs_;
  std::vector<std::size_t> row_ends_;
};

/// Four standard errors of a least-squares fit over rows of elements, robust: `products` are
/// derivative times residual, row after row, `squares` the sum of squared derivatives.
double four_standard_errors(const std::vector<std::vector<double>>& products, double squares);

}  // namespace gqa
