// The formulas of gradients written out a second time, from their comments: no random problem comes
// near a worst case, so that only this sees a term that is missing.
#include <doctest/doctest.h>

#include <cmath>

#include "audit/audit_support.hpp"
#include "audit/written_twice.hpp"
#include "gqa/audit/gradients/gradient_bound.hpp"
#include "gqa/audit/gradients/gradient_likely.hpp"
#include "gqa/audit/gradients/gradient_worst.hpp"
#include "gqa/audit/models/precision_model.hpp"
#include "support/random.hpp"

using namespace gqa;
using test::check_near;
using test::Wide;

namespace {

Wide l(Wide u) {
  return u / (1 - u);
}

struct WorstTwin {
  Wide c_query, c_key, c_value, c_s, c_q, d_e, subtraction;
};

// B, N, O: sums of |g.v| and of |g| |v| over the weights, and of |g o| over the columns.
WorstTwin worst_twin(const PrecisionModel& m, double u_out, double t_out,
                     const GradientRowSize<double>& r, Wide B, Wide N, Wide O, Wide grad_lse) {
  const Wide n = r.terms, dk = r.key_size, dv = r.value_size;
  const Wide ls = l(m.score), lq = l(m.stored_score), la = l(m.accumulation), lp = l(m.weight);
  const Wide lo = l(u_out), le = l(m.exponential), ti = m.inner_underflow, tp = m.weight_underflow;
  const Wide M = Wide{r.scale} * r.query_norm * r.key_norm;
  const bool plain = !r.has_bias && r.softcap == 0;
  const Wide lse = std::abs(Wide{r.lse});
  Wide X = r.has_bias ? 200 : std::min<Wide>(200, lse + M);
  Wide S = r.has_bias ? lse + X : M;
  if (r.sink) {
    X = std::max(X, std::min<Wide>(200, std::abs(Wide{r.lse} - *r.sink)));
    S = std::max(S, std::min<Wide>(lse + 200, std::abs(Wide{*r.sink})));
  }
  const Wide to_score = (dk + 6) * ls + 2 * lq;
  const Wide tiny_product = ti * std::max<Wide>(1, r.scale) *
                            (std::sqrt(dk) * (std::sqrt(dk) + r.query_norm + r.key_norm) + 2);
  const Wide raw = std::expm1(to_score) * M + std::exp(to_score) * tiny_product;
  const Wide after = 6 * le + 2 * lq;
  const Wide D = plain ? raw : std::exp(after) * raw + std::expm1(after) * (S + M) + 6 * ti;
  const Wide ln = std::log(n + 1) + 1;
  const Wide E = D + 4 * Wide{m.exponential} * (X + 3 * D + S + ln);
  const Wide L = 2 * E + 8 * Wide{m.exponential} * (X + lse + S + ln) +
                 (n + 4) * l(4 * Wide{m.exponential}) + (2 * n + 6) * l(m.denominator) + 2 * lp +
                 2 * lq + l(2 * n * (4 * ti + tp));
  WorstTwin t{};
  t.c_q = std::expm1(2 * lq);
  t.c_s = std::exp(2 * lq) * std::expm1((dv + 2) * std::max(ls, la));
  const Wide m_la = (2 * n + dv + 8) * la;
  const Wide Lo = L + lp;
  const Wide of_columns = std::expm1(2 * lo + m_la);
  const Wide from_output = std::expm1(Lo) * B + (std::exp(Lo + m_la) - std::exp(Lo)) * N +
                           of_columns * (O + std::expm1(Lo + m_la) * N);
  const Wide from_sum = std::expm1(Lo + 2 * lq + m_la) * B + std::exp(Lo + m_la) * t.c_s * N;
  const Wide gv = Wide{r.grad_norm} * r.value_norm;
  const Wide root = std::sqrt(dv) * r.grad_norm;
  const Wide tiny_w = 10 * (tp + 4 * ti + 0x1p-288L);
  t.d_e = std::max(from_output, from_sum) +
          2 * (2 * n * tiny_w * gv + 4 * (n + dv + 8) * ti * (1 + root) + 2 * Wide{t_out} * root +
               2 * tp);
  t.subtraction = std::expm1(2 * std::max(ls, la) + 2 * lq);
  if (r.has_grad_lse) t.d_e += t.subtraction * (B + t.d_e + std::abs(grad_lse));
  const Wide slope = r.softcap > 0 ? 2 * raw / r.softcap + 10 * le : 0;
  const Wide ds = L + 2 * lp + 2 * lq + 6 * la + 6 * ls;
  const Wide rows = r.group_rows;
  const Wide stores = (r.group_heads + 1) * lo;
  t.c_query = std::exp(ds + (2 * n + 8) * la + 2 * lo) * (1 + slope) - 1;
  t.c_key = std::exp(ds + (2 * rows + 8) * la + stores) * (1 + slope) - 1;
  t.c_value = std::expm1(L + lp + (2 * rows + 8) * la + stores);
  return t;
}

GradientRowSize<double> random_size(test::Random& random) {
  GradientRowSize<double> r;
  r.terms = random.integer(1, 40);
  r.key_size = random.integer(1, 64);
  r.value_size = random.integer(1, 64);
  r.group_rows = random.integer(1, 64);
  r.group_heads = random.integer(1, 4);
  r.has_bias = random.one_in(4);
  r.scale = random.pick({0.125, 0.3, 1.5});
  r.softcap = random.one_in(2) ? 30 : 0;
  r.query_norm = random.uniform(0, 3);
  r.key_norm = random.uniform(0, 3);
  r.grad_norm = random.uniform(0, 3);
  r.value_norm = random.uniform(0, 3);
  r.lse = random.uniform(-3, 5);
  if (random.one_in(3)) r.sink = random.uniform(-9, 3);
  r.has_grad_lse = random.one_in(3);
  return r;
}

}  // namespace

TEST_CASE("gradient formulas: the worst case of a row, written a second time, is the same") {
  int bounded = 0;
  test::SmallProblem small;
  small.query = small.key = small.value = small.output = {0};
  const AttentionProblem problem = small.problem();  // of which nothing is read
  for (const std::uint64_t seed : test::seeds(400)) {
    test::Random random(seed);
    PrecisionModel model = *precision_models()[seed % precision_models().size()];
    // Any step may be the coarse one.
    for (double PrecisionModel::*u :
         {&PrecisionModel::score, &PrecisionModel::stored_score, &PrecisionModel::exponential,
          &PrecisionModel::denominator, &PrecisionModel::weight, &PrecisionModel::accumulation}) {
      model.*u = random.pick({0.0, 0x1p-20, 0x1p-24, 0x1p-14});
    }
    const GradientRowSize<double> size = random_size(random);
    const double u_out = random.pick({0x1p-9, 0x1p-24});
    const double t_out = random.pick({0.0, 0x1p-25});
    CAPTURE(seed);
    const GradientProblem gradient{problem, *problem.output, {}, u_out, t_out, {}};
    GradientRowWorst<double> worst = gradient_row_worst(model, gradient, size);
    if (!worst.is_bounded) continue;
    ++bounded;
    const double B = random.uniform(0, 5), N = random.uniform(0, 5), O = random.uniform(0, 5);
    const double grad_lse = size.has_grad_lse ? random.uniform(-2, 2) : 0;
    const WorstTwin twin = worst_twin(model, u_out, t_out, size, B, N, O, grad_lse);
    worst.finish(B, N, O, grad_lse);
    check_near(worst.query_product, twin.c_query);
    check_near(worst.key_product, twin.c_key);
    check_near(worst.value_weight, twin.c_value);
    check_near(worst.norm_error, twin.c_s);
    check_near(worst.stored_error, twin.c_q);
    check_near(worst.difference, twin.d_e);
    // One weight of 0.3 with a = -0.7, g.v = -1.1, |g| |v| = 2.
    const Wide own = 2 * twin.c_s + 1.1L * twin.c_q;
    check_near(worst.key_term(0.3, -0.7, -1.1, 2),
               0.3L * ((1 + twin.c_key) * (own + twin.d_e) + twin.c_key * 0.7L));
    check_near(worst.query_term(0.3, -0.7, -1.1, 2) + 0.3 * worst.query_common(),
               0.3L * ((1 + twin.c_query) * (own + twin.d_e) + twin.c_query * 0.7L));
  }
  CHECK(bounded > static_cast<int>(test::seeds(400).size()) / 2);
}

TEST_CASE("gradient formulas: softcap's derivative moves with the score, and is rounded") {
  PrecisionModel model = bf16_f32_model;
  model.exponential = 0x1p-10;
  const GradientRoundings r(model, 16, 16, 20, false, 0.25, 0x1p-9, 0);
  GradientRowGiven<double> row;
  row.delta = 0.5;
  row.maximum = 16;
  GradientPair<double> pair;
  pair.weight = 0.25;
  pair.capped = pair.score = -16;
  pair.raw = -21.972245773362197;  // 20 atanh(-0.8)
  pair.product = 2;
  const GradientPairErrors<double> e = gradient_pair_errors(r, row, pair);
  check_near(e.slope, 1 - 0.64L);
  check_near(e.sensitivity, 0.36L + 2 / 20.0L * 0.8L);
  check_near(e.t, 0.25L * 1.5L * 0.36L);
  // Stored in bfloat16, and four roundings of the derivative of softcap.
  const Wide stored = Wide{model.weight} * 0.25L * 1.5L * 0.36L;
  const Wide slope = 4 * Wide{model.exponential} * 0.25L * 1.5L;
  check_near(e.derivative, stored * stored / 3 + slope * slope / 3);
}

TEST_CASE("gradient formulas: the columns of a row give squares, magnitudes and stored outputs") {
  const GradientRoundings r(bf16_f32_model, 16, 2, 0, false, 0.25, 0x1p-7, 0x1p-12);
  GradientOutputSums<double> sums;
  sums.add(r, 2.0, -3.0);
  sums.add(r, -0.5, 0.0);
  sums.add(r, 1.0, 4.0);
  CHECK(sums.squares == 36 + 16);
  CHECK(sums.magnitudes == 6 + 4);
  check_near(sums.stored, (36 * 0x1p-14L + 0.25L * 0x1p-24L + 16 * 0x1p-14L) / 3);
}

TEST_CASE("gradient formulas: delta errs by the outputs' radii, its own sum, and grad_lse") {
  FilterRow row;
  row.relative = 0x1p-30;
  row.underflow = 0x1p-60;
  const std::vector<FilterRow> rows{row};
  const std::vector<double> output{0.5, -0.25}, maxima{4, 2}, grad{3, -2};
  FilterTile tile;
  tile.rows = rows;
  tile.columns = 2;
  tile.stride = 2;
  tile.values = output.data();
  tile.column_maximum = maxima;
  const GradientDelta plain = gradient_delta(tile, 0, grad.data(), 0);
  CHECK(plain.value == 2);
  const Wide u = 0x1p-53L;
  const Wide radii =
      3 * (0x1p-30L * 4 + u * 0.5L + 0x1p-60L) + 2 * (0x1p-30L * 2 + u / 4 + 0x1p-60L);
  check_near(plain.error, radii + 4 * u * 2);
  const GradientDelta with_lse = gradient_delta(tile, 0, grad.data(), -7);
  CHECK(with_lse.value == 9);
  check_near(with_lse.error - plain.error, 2 * u * (2 + 7));
}

TEST_CASE("gradient formulas: a row's differences err by delta and by their own products") {
  test::SmallProblem small;
  small.query = small.key = small.value = small.output = {0};
  small.contract.softcap = 20;
  const ScoreConstants constants(small.problem());
  FilterRow row;
  row.score_radius = 0x1p-40;
  row.lse_radius = 0x1p-41;
  const GradientRowBound bound = gradient_row_bound(constants, row, 14, 0x1p-35, 3, 5);
  REQUIRE(bound.usable);
  const Wide u = 0x1p-53L;
  const Wide theta = 0x1p-40L + 0x1p-41L + 800 * u;
  const Wide rho = (theta + 8 * u) * (1 + 2 * theta);
  check_near(bound.weight, rho);
  check_near(bound.difference, (0x1p-35L + 16 * u * 15) * (1 + rho));
  check_near(bound.product, rho + 2 * 0x1p-40L / 20 + 8 * u + 6 * u);
}
