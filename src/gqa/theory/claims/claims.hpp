// Every claim of the ledger, in files by topic.
#pragma once

#include "gqa/theory/claim.hpp"

namespace gqa {

extern const Claim claim_a;
extern const Claim claim_b;
extern const Claim claim_c;
extern const Claim claim_d;
extern const Claim claim_e;
extern const Claim claim_f;
extern const Claim claim_g;
extern const Claim claim_h;
extern const Claim claim_i;
extern const Claim claim_j;
extern const Claim claim_k;
extern const Claim claim_l;
extern const Claim claim_m;
extern const Claim claim_n;
extern const Claim claim_o;
extern const Claim claim_p;
extern const Claim claim_q;
extern const Claim claim_r;
extern const Claim claim_s;
extern const Claim claim_t;
extern const Claim claim_u;
extern const Claim claim_v;
extern const Claim claim_w;
extern const Claim claim_x;
extern const Claim claim_y;
extern const Claim claim_z;
extern const Claim claim_aa;
extern const Claim claim_bb;
extern const Claim claim_cc;
extern const Claim claim_dd;
extern const Claim claim_ee;
extern const Claim claim_ff;
extern const Claim claim_gg;

}  // namespace gqa
