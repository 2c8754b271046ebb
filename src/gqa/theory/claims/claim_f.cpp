#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/instances.hpp"

namespace gqa {
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
