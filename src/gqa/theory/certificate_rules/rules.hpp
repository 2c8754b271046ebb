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

/// values [N, d], keys [N, dk], point [d], direction [dk], divisor, quotients [d], lower, upper:
/// with t_j = keys_j.direction and a_j the integers (t_j - least) / unit, a query tau direction
/// gives strengths y^(a_j), y = exp(tau unit), which may be any positive number. In every
/// coordinate sum_j y^(a_j) (values_j - point) is divisor x quotient (ascending coefficients), and
/// the divisor has no same signs at the positive numbers lower and upper: a root lies between.
std::string reachable_along_direction(CertificateFields& fields);

/// values [N, d], keys [N, dk], point [d], direction [dk], cofactors [d], breaks: the keys lie on
/// one line, along which places t_j are those of all queries; the combination of the sums above
/// with the cofactors is zero at no break, and between them, before the first and beyond the last
/// it has no positive root by the rule of signs: coefficients of one sign after z -> (lower + upper
/// z) / (1 + z).
std::string unreachable_along_line(CertificateFields& fields);

/// values [N, d], keys [N, dk], point [d], weights [N], affine [dk + 1, d]: values = [keys 1]
/// affine, and positive weights of sum 1 reach the point, which is so the affine image of a point
/// in the relative interior of the keys' hull; the mean of the keys under softmax takes every such
/// point as the query varies (the moment map of an exponential family is onto: Barndorff-Nielsen,
/// Information and Exponential Families, 1978, theorem 9.2).
std::string reachable_by_moments(CertificateFields& fields);

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

/// What certificates of pooled projections say of the layer (score_layer.hpp), and by loss:
/// - values_differ: layer, value_weights [G, dv, D], head, input [D], output [dv], pooled_output
///   [dv]. On this one position the head gives its own projection, or that by the mean: they
///   differ.
/// - scores_differ: layer, key_weights [G, dk, D], value_weights [G, dv, D], all equal, head,
///   query_weight [dk, D] of the head or null (queries from elsewhere), earlier_input [D], input
///   [D], query [dk] (that of the input), distance, score_difference, pooled_score_difference: of
///   the earlier input, `distance` positions before, and the input's own. On the text of the
///   earlier input and then `distance` times the input, the output is Wv input + w Wv (earlier -
///   input), w the logistic function of the score difference, at any positive scale, plus what the
///   inputs between add, which no head's pooling changes: it is strictly increasing and its factor
///   is not zero, so the outputs differ.
/// - normalised_scores_differ: the same without the differences, for normalised keys. The score of
///   the earlier input changes: query.R^-distance g (n(k) - n(mean k)) is not zero, n(k) = k /
///   sqrt(|k|^2 / dk + epsilon), while it is zero for the input 0. So that input or 0 loses, in
///   the same way.
/// - some_distance: layer of distinct angles, key_weights, value_weights, head, query_weight,
///   query_bias, input, query, key_input [D], plane (an index, or null: the coordinates not
///   rotated). In that plane neither the query nor the change of the key of key_input is zero (not
///   rotated: their product, less that of the key input 0). As exponentials of distinct angles are
///   linearly independent over any dk + 1 distances in a row, some text of at most dk + 2
///   positions loses.
std::string weight_pooling_loss(CertificateFields& fields);

/// layer, key_weights [G, dk, D], value_weights [G, dv, D], query_weights [G, dk, D] or null: the
/// value projections are equal, and zero, or no score of any input changes but by what is common
/// to its row: with Q the query projection (and bias) or 1, K = Wk - mean Wk and b its bias's,
/// Q^T R^t K = 0 and Q^T (R^t - 1) b = 0 for t = 1, ..., dk, so by Cayley and Hamilton for every
/// integer t; with distinct angles, in each plane Q = 0 or K = b = 0; normalised keys: Q^T R^t g Wk
/// = Q^T R^t g mean Wk, and zero, or Wk^T Wk = mean Wk^T mean Wk.
std::string weight_pooling_lossless(CertificateFields& fields);

/// matrix [n, m], modulus, rows [r], columns [r], determinant: the minor's determinant modulo the
/// modulus, not zero; no denominator shares a factor with the modulus. So the rank is >= r.
std::string rank_lower_bound(CertificateFields& fields);

/// matrix [n, m], left [n, r], right [r, m]: matrix = left right, so the rank is <= r.
std::string rank_upper_bound(CertificateFields& fields);

/// quantity, its operands, a minor as in rank_lower_bound, left and right as in rank_upper_bound or
/// null: the matrix that the operands make has that rank.
/// - values: heads G, values [1 or G, N, dv]: all heads' values side by side.
/// - pattern: patterns [1, T, N] of weights (not negative, rows of sum 1), or null and keys [N,
/// dk],
///   query_bases [1, T, dk], visible [T, N] of 0 and 1: weights exp(q.k) / sum with exp(q_c) =
///   base_c > 0, where visible.
/// - stacked_output, summed_output: heads G, values [1 or G, N, dv], patterns [1 or G, T, N] or
/// null
///   as above, projections [G, dv, dm] or (stacked) null: P_h V W_h side by side, or summed.
/// - scores_along_heads, scores_along_keys: queries [G, T, dk], keys [1 or G, N, dk]: q_hi.k_j as a
///   row for each head, or for each head and query.
/// Keys, values and patterns of extent 1 are shared by all heads.
std::string stacked_output_rank(CertificateFields& fields);

/// queries [G, T, dk], keys [S, dk], values [S, dv], projections [G, dv, dm], scale_squared,
/// inverse [G dv, G dv], direction [T], least_participation, most_participation, least_stable,
/// most_stable: with H = softmax(scale Q_h K^T) V side by side, causal (query i sees the first S -
/// T + i + 1 keys), enclosed in intervals, and C = [H_h W_h]: H^T H (W W^T) is invertible as |1 -
/// inverse matrix| < 1, so C has rank G dv. The participation ratio is (tr A)^2 / tr(A^2), A = C^T
/// C, the stable rank tr A / its largest eigenvalue, bounded by the sum of 64th powers of all and
/// by the Rayleigh quotient at the direction.
std::string enclosed_group_rank(CertificateFields& fields);

/// identity, its inputs, left, right: the two sides as evaluated, and different.
/// - mean_key_score_sum: queries, keys [h, d]: sum q_i.k_i against (sum q_i).(mean k_i).
/// - mean_pooled_output: keys [G, S, dk] and values [G, S, dv], head, bases [dk] positive,
///   key_scale: strengths product(bases_c ^ (key_scale key_c)), every exponent an integer; the
///   head's output against that with the group's mean keys and values.
/// - output_as_values_times_matrix: values [N, dv], patterns [h, N, N] (weights: not negative,
///   rows of sum 1), projections [h, dv, dm],
///   row_combination n [N] with n values = 0, so that n (values M) is zero (right) for every M;
///   left is n (sum patterns values projections).
/// - mean_key_softens: query [dk], keys [G, dk], head: the mean key is shorter than the head's, and
///   yet |query.key| (left) is less than |query.mean key| (right).
/// - head_maps: query_heads, groups: floor(i groups / query_heads) against floor(i / floor(
///   query_heads / groups)), by query head i.
/// - layer_of_other_weights: input [N, D], weights and other_weights, each with query [Hq, D, dk],
///   key [Hkv, D, dk], value [Hkv, D, dv]: the outputs of all heads and positions, with scores in
///   units of ln 2 (integers).
std::string counterexample(CertificateFields& fields);

/// axioms (name, left, right: terms f(x, g(y)); single lower-case letters are variables), chain of
/// terms, uses: each next term of the chain follows by replacing one place of the one before by the
/// axiom at the index in uses, in either direction: so the first equals the last wherever the
/// axioms hold.
std::string equational_proof(CertificateFields& fields);

/// left, right: polynomials, as parse_polynomial reads them, with the same coefficients: equal for
/// all numbers in the place of the variables.
std::string polynomial_identity(CertificateFields& fields);

/// layers (a list of count, window or null), batch, positions, page_size, kv_num_heads, key_size,
/// value_size, key_block and value_block (bytes, elements), bytes_per_position, bytes.
std::string byte_ledger(CertificateFields& fields);

}  // namespace gqa::certificate_rules
