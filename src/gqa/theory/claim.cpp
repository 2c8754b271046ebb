#include "gqa/theory/claim.hpp"

#include <tbb/parallel_for.h>

#include <atomic>

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
  std::atomic<std::size_t> verified = 0;
  tbb::parallel_for(std::size_t{0}, certificates_.size(), [&](std::size_t k) {
    if (check_certificate(certificates_[k].dump(), "certificate").verified) ++verified;
  });
  if (certificates_.empty()) return;
  require(verified == certificates_.size(), "the checker verifies {} of {} certificates",
          verified.load(), certificates_.size());
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
