// Rotary embedding, online softmax and merging by log-sum-exp.
#include <array>

#include "gqa/attention/attention.hpp"
#include "gqa/exact/merge.hpp"
#include "gqa/exact/rotary.hpp"
#include "gqa/exact/weight_family.hpp"
#include "gqa/num/word_fraction.hpp"
#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/instances.hpp"

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

namespace {

using namespace claim_instances;

ClaimVerdict argue_cc(Argument& argument, const TrainedModel* /*model*/) {
  int splits = 0, tiles = 0;
  bool merged = true, online = true;
  for (const WeightFamily& family : weight_families) {
    Row strengths;
    Matrix value;
    for (std::int64_t j = 0; j < 8; ++j) {
      append(strengths, family.strength(8 - j, j % 4));
      value.push_back({static_cast<long>(j), fraction(1, static_cast<long>(j) + 1)});
    }
    const Problem<GmpNumbers> problem = with_strengths({{strengths}}, {value});
    const Row expected = row_of(attention(problem).output, 0);
    const std::span<const Rational> all(strengths);
    const auto values = problem.value.matrix(0, 0);
    for (std::size_t a = 0; a <= 8; ++a) {
      for (std::size_t b = a; b <= 8; ++b, ++splits) {
        const auto left = merge(attend_part(all, values, 0, a), attend_part(all, values, a, b));
        merged = merged && merge(left, attend_part(all, values, b, 8)).output == expected;
      }
    }
    for (std::size_t tile = 1; tile <= 8; ++tile, ++tiles) {
      online = online && online_softmax(all, values, tile) == expected;
    }
  }
  argument.require(merged, "{} splits in three parts give the one-pass output", splits);
  argument.require(online, "{} runs of online softmax, tiles of 1 to 8, give it", tiles);
  const LogRational a = LogRational::log_of(fraction(35, 6)), b = LogRational::log_of(14);
  const auto ratio = (a - b).exp();
  argument.require(ratio && *ratio == fraction(35, 84),
                   "exp(LSE_a - LSE_b) of sums 35/6 and 14 is exactly {}",
                   gqa::to_text(ratio.value_or(0)));
  // exp(LSE) is the sum A of a part's strengths and o = N / A: merged numerators and denominators
  // are those of the whole, with any common shift e = exp(-m).
  argument.attach(
      claim_certificates::polynomial_identity("(e*N + e*M)*(A + B)", "(N + M)*(e*A + e*B)"));
  // One step of online softmax, from the maximum's shift e to e x.
  argument.attach(
      claim_certificates::polynomial_identity("x*(e*N) + (e*x)*(a*v)", "(e*x)*(N + a*v)"));
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_cc{
    .id = "cc",
    .title = "merging",
    .statement =
        "Online softmax and split-KV merging by natural-log LSE equal the one-pass result exactly, "
        "for every split",
    .scope =
        "every split; checked for six weight families of 8 keys: all splits in three, all tile "
        "sizes",
    .certificate = "exp(LSE_a) o_a + exp(LSE_b) o_b = sum of a_j v_j over both parts",
    .argue = argue_cc};

}  // namespace gqa
