#include <fmt/ranges.h>

#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/instances.hpp"

namespace gqa {
namespace {

using namespace claim_instances;
namespace certificates = claim_certificates;

ClaimVerdict argue_g(Argument& argument, const TrainedModel* /*model*/) {
  const std::vector<Matrix> values{{{4, 0}, {0, 8}}, {{10, 2}, {-2, 6}}};
  Problem<GmpNumbers> problem =
      with_queries(2, std::vector<Matrix>(8, {{0}}), {{{0}, {0}}, {{0}, {0}}}, values);
  const auto map = resolve_head_map(problem.contract.head_map, 8, 2);
  argument.require(map == std::vector<std::int64_t>{0, 0, 0, 0, 1, 1, 1, 1}, "contiguous map: {}",
                   fmt::join(map, ", "));
  const auto contiguous = attention(problem).output;
  problem.contract.head_map.kind = HeadMapKind::interleaved;
  const auto interleaved = attention(problem).output;
  std::vector<std::int64_t> changed;
  for (std::int64_t h = 0; h < 8; ++h) {
    const Row one = row_of(contiguous, h), other = row_of(interleaved, h);
    if (one == other) continue;
    changed.push_back(h);
    const bool down = h < 4;
    argument.require(
        one == (down ? Row{2, 4} : Row{4, 4}) && other == (down ? Row{4, 4} : Row{2, 4}),
        "head {}: {} becomes {}", h, to_text(one), to_text(other));
  }
  argument.require(changed == std::vector<std::int64_t>{1, 3, 4, 6}, "changed heads: {}",
                   fmt::join(changed, ", "));
  const Row half{fraction(1, 2), fraction(1, 2)};
  argument.attach(certificates::attainable_point(values[0], {2, 4}, half));
  argument.attach(certificates::attainable_point(values[1], {4, 4}, half));
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_g{
    .id = "g",
    .title = "two-maps",
    .statement =
        "Hq = 8, Hkv = 2: the contiguous map is (0,0,0,0,1,1,1,1); with zero queries the map h mod "
        "2 changes exactly heads 1, 3, 4, 6, between (2,4) and (4,4)",
    .scope = "values (4,0), (0,8) of KV head 0 and (10,2), (-2,6) of KV head 1",
    .certificate = "exact attention under both maps; both outputs as attainable points",
    .argue = argue_g};

}  // namespace gqa
