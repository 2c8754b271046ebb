#include "gqa/theory/claim.hpp"

#include "gqa/error.hpp"
#include "gqa/theory/certificate.hpp"
#include "gqa/theory/claims/claims.hpp"

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

const std::vector<const Claim*>& claims() {
  static const std::vector<const Claim*> all{
      &claim_a,  &claim_b,  &claim_c,  &claim_d,  &claim_e, &claim_f,  &claim_g,
      &claim_h,  &claim_i,  &claim_j,  &claim_k,  &claim_l, &claim_m,  &claim_n,
      &claim_o,  &claim_p,  &claim_q,  &claim_r,  &claim_s, &claim_t,  &claim_u,
      &claim_v,  &claim_w,  &claim_x,  &claim_y,  &claim_z, &claim_aa, &claim_bb,
      &claim_cc, &claim_dd, &claim_ee, &claim_ff, &claim_gg};
  return all;
}

const Claim& find_claim(const std::string& name, const std::string& where) {
  std::string known;
  for (const Claim* claim : claims()) {
    if (name == claim->id || name == fmt::format("({})", claim->id) || name == claim->title) {
      return *claim;
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", claim->id);
  }
  throw InputError("claims.unknown", where,
                   fmt::format("no claim is called \"{}\"; write one of {}", name, known));
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
