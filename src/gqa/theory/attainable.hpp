// Which outputs a softmax with finite scores can reach.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "gqa/theory/rational_matrix.hpp"

namespace gqa {

/// Errors: InputError "attain.shape" at `where` unless these are `count` rows of one length, at
/// least one of each.
void require_rows(const RationalMatrix& rows, std::size_t count, const char* where);

/// Exactly one of the two witnesses is set.
struct Attainability {
  bool attainable = false;
  RationalVector weights;  ///< attainable: positive, of sum 1, reaching the point
  /// Not attainable: every value has normal.value + offset >= 0, the point has <= 0, and they are
  /// not all zero.
  RationalVector normal;
  Rational offset;
};

/// Softmax with finite scores makes every weight positive and any positive weights can be had, so
/// the attainable points are the relative interior of the convex hull of the values.
///
/// Shapes: values [N, d] with N, d >= 1, point [d].
/// Errors: InputError "attain.shape" at "values" or "point".
/// Source: docs/theory.md, "Attainability"; Rockafellar, Convex Analysis (1970), theorem 6.4.
Attainability attainability(const RationalMatrix& values, const RationalVector& point);

enum class Reach { reachable, unreachable, undecided };

/// Reachability by a query against given keys.
struct KeyReachability {
  Reach reach = Reach::undecided;
  nlohmann::ordered_json certificate;  ///< null if undecided
  std::string reason;                  ///< why, in words
};

/// The largest exponent of y in the polynomials of a line of keys that are decided.
inline constexpr long highest_key_degree = 1024;

/// Is the point reached by some real query against these keys? The weights must be positive, reach
/// the point, and their logarithms lie in the column space of [keys 1]. Decided if
/// - no positive weights reach the point at all;
/// - the rows of [keys 1] are linearly independent: then every positive weighting can be had;
/// - the values are affinely independent: then the weights are unique, and their logarithms lie
///   in that space exactly if product(w_j ^ n_j) = 1 for every integer n with n [keys 1] = 0;
/// - the weights that were found happen to obey all these equations;
/// - there is one such equation, and weightings that reach the point were found on both sides of
///   it: they may be mixed, so one in between obeys it (the intermediate value theorem);
/// - the values are affine in the keys: the moment map reaches all of the open hull;
/// - the keys lie on one line, so always for dk = 1: strengths are powers of one positive number,
///   and the point is reached exactly if some polynomials have a common positive root
///   (positive_roots.hpp), up to degree highest_key_degree;
/// - so many powers along some direction reach it (directions of small integers are tried).
/// Otherwise undecided: only for keys on no line, or beyond that degree.
///
/// Shapes: keys [N, dk] with dk >= 1. Errors: as attainability, and "attain.shape" at "keys".
KeyReachability key_reachability(const RationalMatrix& values, const RationalMatrix& keys,
                                 const RationalVector& point);

/// The decision along one direction of queries: reachable if some multiple of it reaches the point;
/// unreachable if none does and the keys lie on one line, along which every query is as one of
/// these; undecided otherwise, or beyond highest_key_degree.
KeyReachability reachability_along(const RationalMatrix& values, const RationalMatrix& keys,
                                   const RationalVector& point, const RationalVector& direction);

/// The certificate "attainable_point" or "separating_hyperplane".
nlohmann::ordered_json certificate_of(const Attainability& found, const RationalMatrix& values,
                                      const RationalVector& point);

}  // namespace gqa
