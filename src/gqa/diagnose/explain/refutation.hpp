// Does an explanation say more than what it replaces?
#pragma once

#include <span>
#include <vector>

#include "gqa/diagnose/explain/row_match.hpp"

namespace gqa {

/// Collects, over rows that refute the declared contract, what a hypothesis says of them.
///
/// A hypothesis whose own allowance is as wide as the output explains any output: a sum of n
/// weights of one, each rounded to bfloat16, leaves room for zeros and for random numbers alike.
/// It explains nothing then. One that says something
///   - refutes the declared output: under its own allowance some of these rows could not hold it;
///   - refutes null outputs (zero everywhere, negated, doubled) in most of these rows. All three
///     are at least |h| away from the hypothesis' h, so that one question answers for them: is |h|
///     beyond what is allowed somewhere? Rows that it has as zero anyway do not count;
///   - is at most half as far from the recorded rows as the declared and the null outputs are from
///     it, root mean square in units of its allowance. Random numbers that a wide allowance covers
///     by chance are as far from the hypothesis as zero is, or farther.
class Refutation {
 public:
  void add(const RowComparison& compared, const EvaluatedRow<double>& declared);
  bool says_something() const;

 private:
  std::int64_t rows_ = 0;           // not zero under the hypothesis
  std::int64_t rows_not_null_ = 0;  // of those, refute zeros
  std::int64_t rows_not_declared_ = 0;
  double residual_ = 0;             // sums of squares
  double residual_of_changed_ = 0;  // of the elements that the hypothesis moves
  double from_declared_ = 0;
  double from_null_ = 0;
};

}  // namespace gqa
