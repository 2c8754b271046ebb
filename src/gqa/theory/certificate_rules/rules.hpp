// One checking rule for each kind of certificate.
#pragma once

#include <string>

#include "gqa/theory/certificate_fields.hpp"

namespace gqa::certificate_rules {

/// Every rule reads its fields, and returns the statement that they prove.
/// Errors: CertificateRejected; those of CertificateFields.
using Rule = std::string (*)(CertificateFields& fields);

/// values [N, d], point [d], weights [N]: positive, of sum 1, with sum w_j values[j] = point.
std::string attainable_point(CertificateFields& fields);

/// values [N, d], point [d], normal [d], offset, value_sides [N], point_side: the sides are
/// normal.x + offset of each value and of the point. No value has a negative side, the point no
/// positive one, and not all are zero: so no positive weights of sum 1 reach the point.
std::string separating_hyperplane(CertificateFields& fields);

/// values [N, d], keys [N, dk], point [d], weights [N], inverse [dk + 1, N]: the weights reach the
/// point as in attainable_point, and ln(weights) = [keys 1] inverse ln(weights), so the query and
/// the shift inverse ln(weights) give them.
std::string reachable_with_keys(CertificateFields& fields);

/// values [N, d], keys [N, dk], point [d], lower_weights [N], upper_weights [N], relation [N] of
/// integers, inverse [dk + 1, N], remainder [N]: both weights reach the point as in
/// attainable_point, and so does every mixture; product(w_j ^ relation_j) is at most 1 for the
/// lower and at least 1 for the upper ones, so 1 for a mixture w. By 1 - [keys 1] inverse =
/// remainder relation^T its logarithms are [keys 1] inverse ln(w): the query and the shift inverse
/// ln(w) give it.
std::string reachable_between_weights(CertificateFields& fields);

/// values [N, d], keys [N, dk], point [d], weights [N], inverse [d + 1, N], relation [N] of
/// integers: the weights reach the point and, by [values 1] inverse = 1, no others of sum 1 do;
/// the relation is zero against every column of keys and against ones, so that every softmax over
/// these keys has product(w_j ^ relation_j) = 1, which these weights break.
std::string unreachable_with_keys(CertificateFields& fields);

/// values [N, d], strengths [R, N], output [d]: positive strengths, no two rows proportional, all
/// with this output.
std::string equal_outputs(CertificateFields& fields);

/// keys [G, S, dk], values [G, S, dv], head, key_sum [dk], difference [dv]: with the means over the
/// group as pooled history, the sum of values[head][j] - pooled_value[l] over the pairs j, l with
/// keys[head][j] + pooled_key[l] = key_sum is `difference`, and not zero. Exponentials of distinct
/// sums are linearly independent functions of the query, so some query tells the two apart.
std::string pooling_loss(CertificateFields& fields);

/// keys [G, S, dk], values [G, S, dv], causal: all such sums of all heads are zero; if causal,
/// those of each first n positions too.
std::string pooling_lossless(CertificateFields& fields);

/// By the field loss:
/// - values_differ: value_weights [G, dv, D], head, input [D], output [dv], pooled_output [dv]. On
///   this one position the head gives its own projection, or that by the mean: they differ.
/// - scores_differ: key_weights [G, dk, D], value_weights [G, dv, D], all equal, head, query_weight
///   [dk, D] of the head or null (queries from elsewhere), earlier_input [D], input [D], query [dk]
///   (query_weight input), score_difference, pooled_score_difference. The latter are those of the
///   earlier position and the input's own. On these two positions the output is Wv input + w Wv
///   (earlier - input), w the logistic function of the score difference at any positive scale: it
///   is strictly increasing and its factor is not zero, so the outputs differ.
std::string weight_pooling_loss(CertificateFields& fields);

/// key_weights [G, dk, D], value_weights [G, dv, D], query_weights [G, dk, D] or null: the value
/// projections are equal, and zero, or Wq^T (Wk - mean Wk) (Wk - mean Wk without queries) is zero
/// for every head: no score of any input changes, causal or not, without rotary embedding or
/// normalised keys.
std::string weight_pooling_lossless(CertificateFields& fields);

/// matrix [n, m], modulus, rows [r], columns [r], determinant: the minor's determinant modulo the
/// modulus, not zero; no denominator shares a factor with the modulus. So the rank is >= r.
std::string rank_lower_bound(CertificateFields& fields);

/// matrix [n, m], left [n, r], right [r, m]: matrix = left right, so the rank is <= r.
std::string rank_upper_bound(CertificateFields& fields);

/// identity, its inputs, left, right: the two sides as evaluated, and different.
/// - mean_key_score_sum: queries, keys [h, d]: sum q_i.k_i against (sum q_i).(mean k_i).
/// - mean_pooled_output: keys [G, S, dk] and values [G, S, dv], head, bases [dk] positive,
///   key_scale: strengths product(bases_c ^ (key_scale key_c)), every exponent an integer; the
///   head's output against that with the group's mean keys and values.
/// - output_as_values_times_matrix: values [N, dv], patterns [h, N, N] (weights: not negative,
///   rows of sum 1), projections [h, dv, dm],
///   row_combination n [N] with n values = 0, so that n (values M) is zero (right) for every M;
///   left is n (sum patterns values projections).
std::string counterexample(CertificateFields& fields);

/// left, right: polynomials, as parse_polynomial reads them, with the same coefficients: equal for
/// all numbers in the place of the variables.
std::string polynomial_identity(CertificateFields& fields);

/// layers (a list of count, window or null), batch, positions, page_size, kv_num_heads, key_size,
/// value_size, key_block and value_block (bytes, elements), bytes_per_position, bytes.
std::string byte_ledger(CertificateFields& fields);

}  // namespace gqa::certificate_rules
