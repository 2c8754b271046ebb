#include "gqa/diagnose/local/local_diagnosis.hpp"

#include <array>

#include "gqa/diagnose/local/key_shares.hpp"
#include "gqa/diagnose/local/reordered_pages.hpp"
#include "gqa/diagnose/local/row_contents.hpp"
#include "gqa/diagnose/local/stale_values.hpp"
#include "gqa/diagnose/local/unrecorded_slot.hpp"

namespace gqa {

std::vector<Explanation> local_explanations(const DiagnosisCase& problem, const WrongRows& wrong,
                                            Deadline deadline) {
  if (wrong.places().empty()) return {};
  const LocalEvidence evidence = local_evidence(problem, wrong);
  if (auto found = content_of_rows(evidence)) return {*found};
  // Some heads that read another one's history are told as that, not as a rule of those heads.
  const auto& heads = evidence.region.heads;
  if (heads && heads->ranges.size() == 1) {
    if (auto found = other_heads(evidence)) return {*found};
  }
  std::vector<Explanation> rules = rules_of_region(evidence, deadline);
  if (!rules.empty()) return rules;
  constexpr std::array steps{&other_heads,     &deviating_key_shares, &stale_values,
                             &reordered_pages, &lost_rescale,         &measured_in_region,
                             &unrecorded_slot};
  for (const auto step : steps) {
    if (std::chrono::steady_clock::now() > deadline) break;
    if (auto found = step(evidence)) return {*found};
  }
  return {};
}

}  // namespace gqa
