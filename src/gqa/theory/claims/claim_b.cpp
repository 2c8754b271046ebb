#include "gqa/exact/segment.hpp"
#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/instances.hpp"

namespace gqa {
namespace {

using namespace claim_instances;
namespace certificates = claim_certificates;

ClaimVerdict argue_b(Argument& argument, const TrainedModel* /*model*/) {
  const Matrix values{{4, 0}, {0, 8}};
  argument.say(
      "(x, y) = w (4,0) + (1-w) (0,8) gives x/4 + y/8 = w + (1-w) = 1; "
      "w = exp(s_0) / (exp(s_0) + exp(s_1)) is above 0 and below 1 for finite scores");
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

}  // namespace gqa
