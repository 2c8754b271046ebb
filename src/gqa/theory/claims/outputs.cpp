// What a single row of attention can give: outputs, weights, shifts.
#include "gqa/exact/enumeration.hpp"
#include "gqa/exact/segment.hpp"
#include "gqa/exact/weight_family.hpp"
#include "gqa/num/word_fraction.hpp"
#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/instances.hpp"

namespace gqa {
namespace {

using namespace claim_instances;
namespace certificates = claim_certificates;

ClaimVerdict argue_a(Argument& argument, const TrainedModel* /*model*/) {
  const Matrix values{{4, 0}, {0, 8}};
  // Scaled by 1/sqrt(2) the queries are (ln 3, 0) and (0, ln 3).
  const auto result =
      attention(with_queries(3, {{{1, 0}}, {{0, 1}}}, {{{1, 0}, {0, 1}}}, {values}));
  const Matrix weights{{fraction(3, 4), fraction(1, 4)}, {fraction(1, 4), fraction(3, 4)}};
  const Matrix outputs{{3, 2}, {1, 6}};
  for (std::int64_t h = 0; h < 2; ++h) {
    const auto at = static_cast<std::size_t>(h);
    argument.require(
        row_of(result.weights, h) == weights[at] && row_of(result.output, h) == outputs[at],
        "head {}: weights {}, output {}", h, to_text(row_of(result.weights, h)),
        to_text(row_of(result.output, h)));
    argument.attach(certificates::attainable_point(values, outputs[at], weights[at]));
  }
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_a{
    .id = "a",
    .title = "exact-outputs",
    .statement =
        "Keys (1,0), (0,1) and values (4,0), (0,8): weights 3/4, 1/4 give (3,2), weights 1/4, 3/4 "
        "give (1,6)",
    .scope = "the two queries sqrt(2) ln 3 (1,0) and sqrt(2) ln 3 (0,1), d_k = 2, default scale",
    .certificate = "exact attention; the outputs as attainable points with these weights",
    .argue = argue_a};

namespace {

using namespace claim_instances;
namespace certificates = claim_certificates;

ClaimVerdict argue_b(Argument& argument, const TrainedModel* /*model*/) {
  const Matrix values{{4, 0}, {0, 8}};
  argument.say(
      "(x, y) = w (4,0) + (1-w) (0,8) gives x/4 + y/8 = w + (1-w) = 1; "
      "w = exp(s_0) / (exp(s_0) + exp(s_1)) is above 0 and below 1 for finite scores");
  // 2 x + y = 8 for x = 4 w, y = 8 (1 - w).
  argument.attach(certificates::polynomial_identity("2*(4*w) + 8*(1 - w)", "8"));
  bool on_line = true;
  for (long a = 1; a <= 20; ++a) {
    const Row output = row_of(attention(with_strengths({{{a, 21 - a}}}, {values})).output, 0);
    on_line = on_line && output[0] / 4 + output[1] / 8 == 1 &&
              on_open_segment(values[0], values[1], output);
  }
  argument.require(on_line, "20 outputs with weights a/21 lie on the line, inside the segment");
  for (const bool first : {true, false}) {
    const Row end = values[first ? 0 : 1];
    argument.require(!on_open_segment(values[0], values[1], end), "{} is not attained",
                     to_text(end));
    // 4 - x or 8 - y: not negative at the values, zero at the end point.
    argument.attach(certificates::separating_hyperplane(
        values, end, first ? Row{-1, 0} : Row{0, -1}, first ? Rational(4) : Rational(8)));
  }
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_b{
    .id = "b",
    .title = "open-segment",
    .statement =
        "All outputs on the values (4,0), (0,8) lie on x/4 + y/8 = 1 with weight 0 < w < 1; the "
        "end points are attained by no finite scores",
    .scope = "every query with finite scores",
    .certificate =
        "w (4,0) + (1-w) (0,8) identically on the line; separating lines for both end points",
    .argue = argue_b};

namespace {

using namespace claim_instances;
namespace certificates = claim_certificates;

ClaimVerdict argue_c(Argument& argument, const TrainedModel* /*model*/) {
  const Matrix values{{4, 0}, {0, 8}};
  const auto result =
      attention(with_queries(3, {{{0, 0}}, {{1, 1}}}, {{{1, 0}, {0, 1}}}, {values}));
  const Row expected{2, 4};
  for (std::int64_t h = 0; h < 2; ++h) {
    argument.require(row_of(result.output, h) == expected, "query {} gives {}", h,
                     to_text(row_of(result.output, h)));
  }
  argument.attach(
      certificates::attainable_point(values, expected, {fraction(1, 2), fraction(1, 2)}));
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_c{
    .id = "c",
    .title = "different-queries-equal-outputs",
    .statement = "The queries (0,0) and (sqrt(2) ln 3, sqrt(2) ln 3) both give (2,4)",
    .scope = "keys (1,0), (0,1), values (4,0), (0,8)",
    .certificate = "exact attention; (2,4) as the point of weights 1/2, 1/2",
    .argue = argue_c};

namespace {

ClaimVerdict argue_d(Argument& argument, const TrainedModel* /*model*/) {
  argument.say("exp(s_j + c) = lambda a_j with lambda = exp(c): it cancels in a_j / sum(a)");
  int instances = 0;
  bool equal = true;
  for (const char* shift : {"ln(2)", "-ln(5)", "3*ln(7) - 2*ln(3)", "ln(22/7)"}) {
    for (std::size_t family = 0; family < weight_families.size(); ++family) {
      Problem<GmpNumbers> problem = case_problem<Rational>({4, 2, family});
      const auto plain = attention(problem);
      problem.score_shift = Tensor<LogRational>({1, 4, 1, 1}, parse_log_rational(shift));
      const auto shifted = attention(problem);
      equal = equal && plain.output == shifted.output && plain.weights == shifted.weights;
      ++instances;
    }
  }
  argument.require(equal, "{} problems with shifts ln 2, -ln 5, ...: identical rationals",
                   instances);
  // a: the key's own term, r: the sum of all others, lambda = exp(c).
  argument.attach(
      claim_certificates::polynomial_identity("lambda*a*(a + r)", "a*(lambda*a + lambda*r)"));
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_d{.id = "d",
                    .title = "score-shift",
                    .statement = "Adding one constant to all scores of a row changes nothing",
                    .scope = "every row without a sink",
                    .certificate = "lambda a_j / sum(lambda a) = a_j / sum(a) for every lambda > 0",
                    .argue = argue_d};

namespace {

using namespace claim_instances;
namespace certificates = claim_certificates;

ClaimVerdict argue_e(Argument& argument, const TrainedModel* /*model*/) {
  const Matrix values{{5, 7}, {5, 7}, {5, 7}, {5, 7}};
  Matrix rows;
  for (const WeightFamily& family : weight_families) {
    Row row;
    for (std::int64_t j = 0; j < 4; ++j) append(row, family.strength(1, j));
    const Row output = row_of(attention(with_strengths({{row}}, {values})).output, 0);
    argument.require(output == values[0], "strengths {} give {}", to_text(row), to_text(output));
    rows.push_back(row);
  }
  argument.attach(certificates::equal_outputs(values, {rows[1], rows[2]}, values[0]));
  // One more position of weight w after those of weight A: with A + w = 1 at last, v is left.
  argument.attach(certificates::polynomial_identity("A*v + w*v", "(A + w)*v"));
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_e{
    .id = "e",
    .title = "identical-values",
    .statement = "Identical values (5,7) hide any weighting: every output is (5,7)",
    .scope = "every row of positive weights",
    .certificate =
        "sum w_j (5,7) = (5,7) as sum w_j = 1; two different weightings with that output",
    .argue = argue_e};

namespace {

using namespace claim_instances;
namespace certificates = claim_certificates;

ClaimVerdict argue_f(Argument& argument, const TrainedModel* /*model*/) {
  argument.say(
      "both outputs are linear in the weights: their difference is (w - w') V; two weights "
      "sum to 1, so w - w' = (t, -t) and the difference is t (v_0 - v_1)");
  int pairs = 0, agreeing = 0;
  for (long a = 1; a < 7; ++a) {
    for (long b = 1; b < 7; ++b) {
      for (long v = -1; v <= 1; ++v) {
        const Matrix values{{2, 0}, {2 + v, 0}};
        const auto output = [&](long x) {
          return row_of(attention(with_strengths({{{x, 7 - x}}}, {values})).output, 0);
        };
        ++pairs;
        agreeing += (output(a) == output(b)) == (a == b || v == 0) ? 1 : 0;
      }
    }
  }
  argument.require(pairs == agreeing, "{} of {} pairs of weight rows on two values obey it",
                   agreeing, pairs);
  const Matrix values{{0}, {1}, {2}};
  const Matrix rows{{1, 1, 1}, {1, 2, 1}};
  for (const Row& row : rows) {
    const Row output = row_of(attention(with_strengths({{row}}, {values})).output, 0);
    argument.require(output == Row{1}, "on the values 0, 1, 2 the strengths {} give {}",
                     to_text(row), to_text(output));
  }
  argument.attach(certificates::equal_outputs(values, rows, {1}));
  // Each position's term; and of two positions all of the difference.
  argument.attach(certificates::polynomial_identity("w*x - u*x", "(w - u)*x"));
  argument.attach(certificates::polynomial_identity("(a*x + (1 - a)*y) - (b*x + (1 - b)*y)",
                                                    "(a - b)*(x - y)"));
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_f{
    .id = "f",
    .title = "equal-outputs",
    .statement =
        "Two weight rows w, w' give equal outputs exactly if (w - w') V = 0; for two values "
        "exactly if w = w' or the values are equal",
    .scope = "every pair of weight rows",
    .certificate = "w V - w' V = (w - w') V; for two values it is (a - b)(v_0 - v_1)",
    .argue = argue_f};

}  // namespace gqa
