#include <array>

#include "gqa/attention/attention.hpp"
#include "gqa/exact/rotary.hpp"
#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"

namespace gqa {
namespace {

// (R^i q).(R^j k), in logarithms.
LogRational score(std::vector<LogRational> query, std::vector<Rational> key,
                  const std::vector<RationalRotation>& rotations, std::int64_t i, std::int64_t j) {
  rotate_rows(MatrixView<LogRational>(query.data(), 1, query.size()), rotations, std::array{i});
  rotate_rows(MatrixView<Rational>(key.data(), 1, key.size()), rotations, std::array{j});
  return GmpNumbers::dot(query, key);
}

ClaimVerdict argue_bb(Argument& argument, const TrainedModel* /*model*/) {
  const std::vector<RationalRotation> rotations{RationalRotation::pythagorean(2, 1),
                                                RationalRotation::pythagorean(3, 2)};
  for (const RationalRotation& r : rotations) {
    argument.require(Rational(r.cosine * r.cosine + r.sine * r.sine) == 1, "({})^2 + ({})^2 = 1",
                     to_text(r.cosine), to_text(r.sine));
  }
  const LogRational ln2 = LogRational::log_of(2), ln3 = LogRational::log_of(3);
  const std::vector<LogRational> query{ln3, ln2, ln2 * Rational(-1), ln3 * Rational(2)};
  const std::vector<Rational> key{3, -1, 2, 5};
  bool relative = true;
  for (std::int64_t distance = -4; distance <= 4; ++distance) {
    const LogRational expected = score(query, key, rotations, distance, 0);
    for (std::int64_t at = 4; at < 16; ++at) {
      relative = relative && score(query, key, rotations, at + distance, at) == expected;
    }
  }
  argument.require(relative,
                   "9 distances at 12 positions each: the scores, rational combinations of "
                   "ln 2 and ln 3, are identical");
  Tensor<Rational> shared({1, 1, 3, 4}, std::vector<Rational>{1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2});
  Tensor<Rational> copies = expand_heads(shared, {0, 0, 0});
  const std::vector<std::int64_t> positions{0, 1, 2};
  rotate_rows(shared.matrix(0, 0), rotations, positions);
  for (std::int64_t h = 0; h < 3; ++h) rotate_rows(copies.matrix(0, h), rotations, positions);
  argument.require(expand_heads(shared, {0, 0, 0}) == copies,
                   "rotating the shared keys once equals rotating every head's copy");
  // In each plane, rotations by (c, s) of the query and (C, S) of the key; on the right the key is
  // rotated by their difference, and the query is not.
  argument.attach(claim_certificates::polynomial_identity(
      "(c*q - s*p)*(C*k - S*l) + (s*q + c*p)*(S*k + C*l)",
      "q*((c*C + s*S)*k - (c*S - s*C)*l) + p*((c*S - s*C)*k + (c*C + s*S)*l)"));
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_bb{
    .id = "bb",
    .title = "rotary",
    .statement =
        "With rotary embedding scores depend on the relative position alone, and a shared key is "
        "rotated once",
    .scope =
        "all positions; instances with rational rotations (Pythagorean triples): two planes, "
        "distances -4 to 4",
    .certificate =
        "R^T R = 1 exactly, so (R^i q).(R^j k) = q.(R^(j-i) k); exact scores as instances",
    .argue = argue_bb};

}  // namespace gqa
