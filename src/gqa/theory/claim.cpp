#include "gqa/theory/claim.hpp"

#include "gqa/theory/certificate.hpp"

namespace gqa {

std::string_view name(ClaimVerdict verdict) {
  switch (verdict) {
    case ClaimVerdict::open:
      return "open";
    case ClaimVerdict::checked:
      return "checked";
    case ClaimVerdict::proved:
      return "proved";
    case ClaimVerdict::refuted:
      return "refuted";
  }
  return "open";
}

void Argument::step(bool holds, std::string text) {
  ++steps_;
  if (!holds) failures_.push_back(text);
  lines_.push_back((holds ? "holds: " : "DOES NOT HOLD: ") + text);
}

void Argument::require_certificates() {
  std::size_t verified = 0;
  for (const nlohmann::ordered_json& certificate : certificates_) {
    if (check_certificate(certificate.dump(), "certificate").verified) ++verified;
  }
  if (certificates_.empty()) return;
  require(verified == certificates_.size(), "the checker verifies {} of {} certificates", verified,
          certificates_.size());
}

ClaimReport adjudicate(const Claim& claim, const TrainedModel* model) {
  ClaimReport report;
  report.claim = &claim;
  const ClaimVerdict supported = claim.argue(report.argument, model);
  report.argument.require_certificates();
  if (report.argument.holds()) report.verdict = supported;
  return report;
}

}  // namespace gqa
