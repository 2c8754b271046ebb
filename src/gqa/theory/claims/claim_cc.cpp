#include "gqa/exact/merge.hpp"
#include "gqa/exact/weight_family.hpp"
#include "gqa/num/word_fraction.hpp"
#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/instances.hpp"

namespace gqa {
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
