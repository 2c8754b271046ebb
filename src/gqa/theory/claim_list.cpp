#include "gqa/theory/claim_list.hpp"

#include <fmt/format.h>

#include "gqa/error.hpp"
#include "gqa/theory/claims/claims.hpp"

namespace gqa {

const std::vector<const Claim*>& claims() {
  static const std::vector<const Claim*> all{
      &claim_a,  &claim_b,  &claim_c,  &claim_d,  &claim_e,  &claim_f,  &claim_g,  &claim_h,
      &claim_i,  &claim_j,  &claim_k,  &claim_l,  &claim_m,  &claim_n,  &claim_o,  &claim_p,
      &claim_q,  &claim_r,  &claim_s,  &claim_t,  &claim_u,  &claim_v,  &claim_w,  &claim_x,
      &claim_y,  &claim_z,  &claim_aa, &claim_bb, &claim_cc, &claim_dd, &claim_ee, &claim_ff,
      &claim_gg, &claim_hh, &claim_ii, &claim_jj, &claim_kk, &claim_ll, &claim_mm, &claim_nn,
      &claim_oo, &claim_pp, &claim_qq, &claim_rr, &claim_ss, &claim_tt, &claim_uu, &claim_vv,
      &claim_ww, &claim_xx, &claim_yy, &claim_zz};
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

}  // namespace gqa
