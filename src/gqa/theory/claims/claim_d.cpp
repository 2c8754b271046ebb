#include "gqa/exact/enumeration.hpp"
#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"

namespace gqa {
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

}  // namespace gqa
