#include "gqa/exact/weight_family.hpp"
#include "gqa/num/word_fraction.hpp"
#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/instances.hpp"

namespace gqa {
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

}  // namespace gqa
