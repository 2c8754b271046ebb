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
extern const Claim claim_hh;
extern const Claim claim_ii;
extern const Claim claim_jj;
extern const Claim claim_kk;
extern const Claim claim_ll;
extern const Claim claim_mm;
extern const Claim claim_nn;
extern const Claim claim_oo;
extern const Claim claim_pp;
extern const Claim claim_qq;
extern const Claim claim_rr;
extern const Claim claim_ss;
extern const Claim claim_tt;
extern const Claim claim_uu;
extern const Claim claim_vv;
extern const Claim claim_ww;
extern const Claim claim_xx;
extern const Claim claim_yy;
extern const Claim claim_zz;

}  // namespace gqa
