// Norms and maxima of the operands of one history, shared by every rung of its gradients.
#pragma once

#include <cstdint>
#include <vector>

#include "gqa/audit/gradients/gradient_problem.hpp"

namespace gqa {

/// Of one matrix x: magnitudes of columns and rows with |x_rc| <= column[c] * share[r]. Outlier
/// columns and outlier rows both stay where they are, unlike in a norm.
struct Magnitudes {
  std::vector<double> column;  ///< largest |x_rc| of the column
  std::vector<double> share;   ///< largest |x_rc| / column[c] of the row, rounded up
};

/// Facts about one batch entry and KV head. Rows are (place in group, query row), flattened.
///
/// Both rungs take the bounds of precision models from these binary64 numbers, which are upper
/// bounds of what they are named after, so that the bounds are the same whichever rung asks.
/// Rows of an operand that are not finite count as zero: whoever sees them is not judged.
struct GradientFacts {
  std::int64_t batch = 0;
  std::int64_t kv_head = 0;
  std::vector<std::int64_t> heads;  ///< the group
  KeyRange seen;                    ///< GradientProblem::seen_keys
  Magnitudes key;                   ///< [keys, dk]; keys outside `seen` count as zero
  Magnitudes query;                 ///< [rows, dk]
  Magnitudes grad;                  ///< [rows, dv] of grad_output
  std::vector<double> query_norm;   ///< [rows] |q|_2
  std::vector<double> grad_norm;    ///< [rows] |g|_2
  std::vector<double> grad_lse;     ///< [rows]
  std::vector<char> grad_finite;    ///< [rows] of grad_output and grad_lse
  std::vector<double> value_norms;  ///< [keys] |v_j|_2
  std::vector<double> query4;       ///< [rows] |q|_4^2
  std::vector<double> grad4;        ///< [rows]
  std::vector<double> key4;         ///< [keys] |k_j|_4^2
  std::vector<double> value4;       ///< [keys]
  double key_norm = 0;              ///< largest |k_j|_2 of the seen keys
  double value_norm = 0;            ///< largest |v_j|_2 of the seen keys
  double key_share_sum = 0;         ///< sums of the shares
  double query_share_sum = 0;
  double grad_share_sum = 0;
  double largest_grad_lse = 0;  ///< |grad_lse|, of the finite ones
  /// No finite row has a norm beyond 2^300: rung 1 may multiply them.
  bool moderate = true;

  std::int64_t rows() const { return static_cast<std::int64_t>(query_norm.size()); }
  std::size_t row(std::int64_t member, std::int64_t i, std::int64_t queries) const {
    return static_cast<std::size_t>(member * queries + i);
  }
};

/// How many rows of an operand are equal to each, bit for bit, itself counted: [rows] of the
/// group's queries and [keys] of the seen keys.
struct GradientCopies {
  std::vector<double> query;
  std::vector<double> key;
};
GradientCopies gradient_copies(const GradientProblem& problem, const GradientFacts& facts);

GradientFacts gradient_facts(const GradientProblem& problem, std::int64_t batch,
                             std::int64_t kv_head);

}  // namespace gqa
