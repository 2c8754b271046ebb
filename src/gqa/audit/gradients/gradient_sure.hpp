// Parts of the likely bound of gradients that cost rung 1 three products in binary32.
//
// With sigma^2 and vdP at the smallest norms of any key, and without whatever a row's other weights
// add: of t^2 and w^2 each pair takes a number of its row,
//   grad_query: t^2 (sigma^2 + u_s^2 + u_a^2 n/6) + w^2 vdP + max(u_p |t|, t_p)^2/3 [twice and once
//               more where scores are stored], and eta^2 kb^2 with the part of eta^2 that the
//               stored output alone makes;
//   grad_key:   t^2 (sigma^2 + rho^2 + u_s^2 + u_a^2/6) + w^2 (vdP + eta^2) + the same;
//   grad_value: w^2 (sigma^2 + rho^2 + u_a^2/6) + max(u_p w, t_p)^2/3.
// Each is cut down to what the worst case has for it (gradient_worst.hpp), so that lambda times the
// root is within that as well: sqrt(sum x^2 y^2) <= sum |x| y for all, and sqrt(y^2 + z^2) <= y +
// z. An element whose error is within is within the smaller of the two bounds.
#pragma once

#include "gqa/audit/gradients/gradient_facts.hpp"
#include "gqa/audit/gradients/gradient_likely.hpp"
#include "gqa/audit/gradients/gradient_sums.hpp"
#include "gqa/audit/gradients/gradient_worst.hpp"

namespace gqa {

class GradientSureVariances {
 public:
  GradientSureVariances(const GradientRoundings& roundings, const GradientFacts& facts);

  struct Row {
    std::size_t at = 0;
    std::int64_t terms = 0;
    double lse = 0;
    const GradientOutputSums<double>& output;
  };
  /// `unit`: derivatives are multiplied by that.
  GradientVarianceFactors factors(const Row& row, const GradientRowWorst<double>& worst,
                                  double unit) const;
  /// Of delta.
  double delta(const GradientOutputSums<double>& output,
               const GradientRowWorst<double>& worst) const;

 private:
  const GradientRoundings& roundings_;
  const GradientFacts& facts_;
  double key4_ = 0;  // the smallest of seen keys
  double value4_ = 0;
  double value_norm_ = 0;
};

}  // namespace gqa
