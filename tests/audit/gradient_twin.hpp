// The likely bound of gradients a second time, pair by pair and in long double, for one history
// without softcap, bias, mask and sink: the formula as its comment states it, with nothing shared.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "audit/rounded_gradients.hpp"

namespace gqa::test {

/// What moves each element before it is recorded, and the elements: grad_query [heads T, d],
/// grad_key and grad_value [S, d].
struct LikelyTwin {
  std::vector<double> query, key, value;
};

class GradientTwin {
 public:
  using Real = long double;

  GradientTwin(const BackwardOperands& o, const PrecisionModel& m, double stored_u, double stored_t)
      : o_(o),
        m_(m),
        eager_(m.stored_score > 0),
        uo_(std::max(m.output, stored_u)),
        to_(std::max(m.storage_underflow, stored_t)),
        rows_(static_cast<std::size_t>(o.heads * o.queries)),
        keys_(static_cast<std::size_t>(o.keys)),
        d_(static_cast<std::size_t>(o.key_size)),
        scale_(1 / std::sqrt(static_cast<Real>(o.key_size))) {}

  LikelyTwin run() {
    forward();
    for (std::size_t i = 0; i < rows_; ++i) row_sums(i);
    LikelyTwin result;
    for (std::size_t i = 0; i < rows_; ++i) {
      for (std::size_t c = 0; c < d_; ++c) result.query.push_back(double(query(i, c)));
    }
    for (std::size_t j = 0; j < keys_; ++j) {
      for (std::size_t c = 0; c < d_; ++c) {
        result.key.push_back(double(key(j, c)));
        result.value.push_back(double(value(j, c)));
      }
    }
    return result;
  }

 private:
  static Real sq(Real x) { return x * x; }
  Real k(std::size_t j, std::size_t c) const { return o_.key[j * d_ + c]; }
  Real q(std::size_t i, std::size_t c) const { return o_.query[i * d_ + c]; }
  Real v(std::size_t j, std::size_t c) const { return o_.value[j * d_ + c]; }
  Real g(std::size_t i, std::size_t c) const { return o_.grad[i * d_ + c]; }
  std::size_t seen(std::size_t i) const {
    const auto queries = static_cast<std::size_t>(o_.queries);
    return o_.causal ? i % queries + 1 + keys_ - queries : keys_;
  }
  Real at(const std::vector<Real>& x, std::size_t i, std::size_t j) const {
    return x[i * keys_ + j];
  }
  template <class Row>
  Real fourth(const Row& row) const {
    Real sum = 0;
    for (std::size_t c = 0; c < d_; ++c) sum += sq(sq(row(c)));
    return std::sqrt(sum);
  }
  Real n(std::size_t i) const { return static_cast<Real>(seen(i)); }
  Real rows_of(std::size_t j) const {
    Real count = 0;
    for (std::size_t i = 0; i < rows_; ++i) count += seen(i) > j ? 1 : 0;
    return count;
  }
  static Real spacing(Real y, Real u, Real t) {
    const int exponent = static_cast<int>(std::floor(std::log2(std::abs(y))));
    return std::max(std::ldexp(2 * u, exponent), 2 * t);
  }
  // Of the rounding error of y, the part that changes sign with it; tie() is the other.
  static Real replay(Real y, Real u, Real t) {
    if (y == 0) return 0;
    const Real error = std::nearbyint(y / spacing(y, u, t)) * spacing(y, u, t) - y;
    const Real left = 512 - std::abs(error) / spacing(y, u, t) * 1024;
    return left < 1 ? std::copysign(left * 511 / 1024 * spacing(y, u, t), error) : error;
  }
  static Real tie(Real y, Real u, Real t) {
    if (y == 0) return 0;
    const Real error = std::nearbyint(y / spacing(y, u, t)) * spacing(y, u, t) - y;
    return std::abs(error) - std::abs(replay(y, u, t));
  }
  static Real lost(Real x, Real limit, Real edge) {
    const Real ramp = 16 * limit * (edge * 17 / 16 - x) / edge;
    return std::max<Real>(0, std::min({x, limit, ramp}));
  }
  template <class Same>
  static Real copies(std::size_t count, const Same& same) {
    Real number = 0;
    for (std::size_t i = 0; i < count; ++i) number += same(i) ? 1 : 0;
    return number;
  }

  void forward() {
    for (auto* x : {&p_, &s_, &dp_, &dev_, &own_, &t_}) x->resize(rows_ * keys_);
    out_.resize(rows_ * d_);
    max_.resize(rows_), lse_.resize(rows_), delta_.resize(rows_);
    ck_.resize(keys_), cq_.resize(rows_);
    for (std::size_t j = 0; j < keys_; ++j) {
      ck_[j] = copies(keys_, [&](std::size_t x) {
        return std::equal(&o_.key[x * d_], &o_.key[x * d_] + d_, &o_.key[j * d_]);
      });
    }
    for (std::size_t i = 0; i < rows_; ++i) {
      cq_[i] = copies(rows_, [&](std::size_t x) {
        return std::equal(&o_.query[x * d_], &o_.query[x * d_] + d_, &o_.query[i * d_]);
      });
      max_[i] = -1e300L;
      for (std::size_t j = 0; j < seen(i); ++j) {
        Real s = 0, product = 0;
        for (std::size_t c = 0; c < d_; ++c) s += q(i, c) * k(j, c), product += g(i, c) * v(j, c);
        s_[i * keys_ + j] = s * scale_;
        dp_[i * keys_ + j] = product;
        max_[i] = std::max(max_[i], s * scale_);
      }
      Real total = 0;
      for (std::size_t j = 0; j < seen(i); ++j) total += std::exp(at(s_, i, j) - max_[i]);
      lse_[i] = max_[i] + std::log(total);
      for (std::size_t j = 0; j < seen(i); ++j) {
        const Real p = p_[i * keys_ + j] = std::exp(at(s_, i, j) - lse_[i]);
        delta_[i] += p * at(dp_, i, j);
        for (std::size_t c = 0; c < d_; ++c) out_[i * d_ + c] += p * v(j, c);
      }
      for (std::size_t j = 0; j < seen(i); ++j) {
        own_[i * keys_ + j] = at(dp_, i, j) - delta_[i];
        dev_[i * keys_ + j] = own_[i * keys_ + j] + o_.grad_lse_of(i);
        t_[i * keys_ + j] = at(p_, i, j) * at(dev_, i, j);
      }
    }
  }

  // Of one pair.
  Real sf2(std::size_t i, std::size_t j) const {
    const Real s = at(s_, i, j);
    const Real q4 = fourth([&](std::size_t c) { return q(i, c); });
    const Real k4 = fourth([&](std::size_t c) { return k(j, c); });
    const Real us = m_.score, ue = m_.exponential, dk = static_cast<Real>(d_);
    return us * us * ((dk / 6 + Real(2) / 3) * scale_ * scale_ * q4 * k4 + dk / 9 * s * s) +
           ue * ue / 3 * (s * s + sq(s - max_[i]) + 4);
  }
  Real sq2(std::size_t i, std::size_t j) const {
    return eager_ ? 2 * sq(m_.stored_score) / 3 * sq(at(s_, i, j)) : 0;
  }
  Real rp2(std::size_t i, std::size_t j) const {
    return sq(std::max<Real>(m_.weight * at(p_, i, j), m_.storage_underflow)) / 3;
  }
  Real rs2(std::size_t i, std::size_t j) const {
    const Real size = m_.weight * std::abs(at(t_, i, j));
    const Real tau = m_.storage_underflow;
    Real once = sq(std::max(size, tau)) / 3;
    if (!o_.grad_lse.empty()) {
      once += sq(m_.weight * at(p_, i, j)) / 3 * (sq(at(own_, i, j)) + sq(o_.grad_lse_of(i)));
    }
    return eager_ ? once + sq(std::max(size, tau / scale_)) / 3 : once;
  }
  Real lost_t(std::size_t i, std::size_t j) const {
    const Real tau = m_.storage_underflow * (eager_ ? 1 + 1 / scale_ : 1);
    return lost(std::abs(at(t_, i, j)), tau, 2 * tau);
  }
  Real gv4(std::size_t i, std::size_t j) const {
    return fourth([&](std::size_t c) { return g(i, c); }) *
           fourth([&](std::size_t c) { return v(j, c); });
  }
  Real vdp(std::size_t i, std::size_t j) const {
    const Real dv = static_cast<Real>(d_);
    return sq(m_.score) * (dv / 6 * gv4(i, j) + dv / 9 * sq(at(dp_, i, j))) +
           dv * sq(m_.inner_underflow) / 3;
  }
  Real vst(std::size_t i, std::size_t j) const {
    return sq(std::max<Real>(m_.stored_score * std::abs(at(dp_, i, j)), m_.storage_underflow)) / 3;
  }
  Real alike(std::size_t i, std::size_t j) const {
    if (!eager_) return 0;
    return std::min<Real>(1, sq(16 * m_.stored_score / m_.weight * at(s_, i, j)));
  }
  Real r_p(std::size_t i, std::size_t j) const {
    return coarse() ? replay(at(p_, i, j), m_.weight, m_.storage_underflow) : 0;
  }
  Real tie_p(std::size_t i, std::size_t j) const {
    return coarse() ? tie(at(p_, i, j), m_.weight, m_.storage_underflow) : 0;
  }
  bool coarse() const { return m_.weight > 0x1p-20; }

  void row_sums(std::size_t i) {
    const Real u = m_.weight, ue = m_.exponential, ul = m_.denominator, ua = m_.accumulation;
    const Real dv = static_cast<Real>(d_);
    Row r;
    Real largest = 1, common = 0, rounded = 0, shared = 0, squares = 0, mean = 0, mean2 = 0,
         top = 0;
    r.rho2 = ue * ue / 3 * sq(lse_[i]);
    for (std::size_t j = 0; j < seen(i); ++j) {
      const Real p = at(p_, i, j), dev = at(own_, i, j), product = at(dp_, i, j);
      largest = std::max(largest, ck_[j]);
      r.rho2 += ck_[j] * p * p * sf2(i, j);
      common += ck_[j] * p * p * sf2(i, j) * dev * dev;
      rounded += rp2(i, j) * product * product;
      shared += alike(i, j) * (ck_[j] - 1) * rp2(i, j) * product * product;
      squares += p * p * (eager_ ? product * product : gv4(i, j));
      const Real w = ck_[j] * p * p * sq2(i, j);
      r.a0 += w, r.a1 += w * dev, r.a2 += w * dev * dev;
      r.products += p * p * vst(i, j);
      const Real l = lost(p, ua, 4 * ua);
      r.lost += l, r.lost_d += l * std::abs(dev);
      mean += p * at(s_, i, j), mean2 += p * sq(at(s_, i, j));
      top = std::max(top, std::abs(at(s_, i, j)));
      if (!coarse()) continue;
      r.y2 += eager_ ? r_p(i, j) * product
                     : replay(std::exp(at(s_, i, j) - max_[i]), u, m_.storage_underflow) * product *
                           std::exp(max_[i] - lse_[i]);
    }
    r.rho2 += ul * ul * n(i) * largest / 9;
    const Real delta2 = sq(delta_[i]);
    if (eager_) {
      const Real sd = std::sqrt(std::max<Real>(0, mean2 - mean * mean));
      const Real width = 2 * m_.stored_score * top;
      r.bins =
          width == 0
              ? 1
              : std::min(n(i), 1 + n(i) * width /
                                       (2 * std::sqrt(std::acos(-1.0L)) * std::max(sd, width / 4)));
      r.eta2 =
          r.bins * rounded + shared + common + ua * ua * (n(i) / 6 * squares + n(i) / 9 * delta2);
    } else {
      Real stored = 0, products = 0;
      for (std::size_t c = 0; c < d_; ++c) {
        const Real o = out_[i * d_ + c];
        stored += sq(g(i, c) * std::max<Real>(uo_ * std::abs(o), to_)) / 3;
        products += sq(g(i, c) * o);
        if (uo_ > 0x1p-20) r.y1 += g(i, c) * replay(o, uo_, to_);
      }
      r.eta2 = stored + rounded + common + ul * ul * n(i) * largest / 9 * delta2 +
               ua * ua * (n(i) / 6 * squares + n(i) / 9 * products) +
               sq(m_.score) * (dv / 6 * products + dv / 9 * delta2);
    }
    if (!o_.grad_lse.empty()) r.eta2 += sq(m_.score) * (delta2 + sq(o_.grad_lse_of(i)));
    sums_.push_back(r);
  }

  Real query(std::size_t i, std::size_t c) const {
    const Row& r = sums_[i];
    const Real ua2 = sq(m_.accumulation), us2 = sq(m_.score);
    Real kb = 0, unscaled = 0;
    for (std::size_t j = 0; j < seen(i); ++j) {
      kb += at(p_, i, j) * k(j, c);
      unscaled += at(t_, i, j) * k(j, c);
    }
    Real variance = r.eta2 * kb * kb, hard = 0, replayed = 0;
    for (std::size_t j = 0; j < seen(i); ++j) {
      const Real p = at(p_, i, j), dev = at(dev_, i, j), x = k(j, c), t = at(t_, i, j);
      variance +=
          x * x *
          (ck_[j] * (p * p * sf2(i, j) * dev * dev + p * p * vdp(i, j) + rs2(i, j) + us2 * t * t) +
           ua2 * n(i) / 6 * t * t);
      hard += std::abs(x) * lost_t(i, j);
      if (!eager_) continue;
      variance += ck_[j] * p * p * sq2(i, j) * sq(dev * x - at(own_, i, j) * kb - unscaled);
      variance += p * p * vst(i, j) * sq(x - kb);
      variance += (r.bins + alike(i, j) * (ck_[j] - 1)) * rp2(i, j) * dev * dev * x * x;
      replayed += r_p(i, j) * dev * x;
      hard += tie_p(i, j) * std::abs(dev * x);
    }
    const Real result = scale_ * unscaled;
    variance = scale_ * scale_ * variance + (ua2 * n(i) / 9 + r.rho2 + us2) * result * result +
               n(i) * ti2();
    hard += std::abs(kb) * (r.lost_d + std::abs(r.y1) + std::abs(r.y2)) + std::abs(replayed);
    return m_.lambda * std::sqrt(variance) + scale_ * hard + r.lost * std::abs(result);
  }
  // Scales are at most one here.
  Real ti2() const { return sq(m_.inner_underflow) / 3; }

  Real heads_variance(const std::vector<Real>& parts) const {
    if (o_.heads == 1) return 0;
    const Real G = static_cast<Real>(o_.heads);
    Real squares = 0, sum = 0;
    for (const Real x : parts) squares += sq(std::max(uo_ * std::abs(x), to_)), sum += x;
    return squares / 3 + G / 6 * squares + G / 9 * sq(std::max(uo_ * std::abs(sum), to_));
  }

  Real key(std::size_t j, std::size_t c) const {
    const Real ua2 = sq(m_.accumulation), us2 = sq(m_.score), nk = rows_of(j);
    Real variance = 0, hard = 0, y1 = 0, y2 = 0, y3 = 0, result = 0;
    std::vector<Real> parts(static_cast<std::size_t>(o_.heads));
    for (std::size_t i = 0; i < rows_; ++i) {
      if (seen(i) <= j) continue;
      const Row& r = sums_[i];
      const Real p = at(p_, i, j), dev = at(dev_, i, j), x = q(i, c), t = at(t_, i, j);
      Real v2 = cq_[i] * p * p * (sf2(i, j) * dev * dev + r.eta2) + cq_[i] * r.rho2 * t * t +
                cq_[i] * (p * p * vdp(i, j) + rs2(i, j) + us2 * t * t) + ua2 * nk / 6 * t * t;
      if (eager_) {
        v2 += cq_[i] * p * p *
              std::max<Real>(0, sq2(i, j) * dev * (dev - 2 * p * (dev + at(own_, i, j))) +
                                    dev * dev * r.a0 + 2 * dev * r.a1 + r.a2);
        v2 += p * p * std::max<Real>(0, vst(i, j) * (1 - 2 * p) + r.products);
        v2 += (1 + alike(i, j) * (cq_[i] - 1)) * rp2(i, j) * dev * dev;
        y3 += r_p(i, j) * dev * x;
        hard += tie_p(i, j) * std::abs(dev * x);
      }
      variance += v2 * x * x;
      hard += std::abs(x) * (lost_t(i, j) + p * r.lost_d + r.lost * std::abs(t));
      y1 += p * r.y1 * x, y2 += p * r.y2 * x;
      parts[i / static_cast<std::size_t>(o_.queries)] += scale_ * t * x;
      result += scale_ * t * x;
    }
    variance = scale_ * scale_ * variance + (ua2 * nk / 9 + us2) * result * result +
               heads_variance(parts) + nk * ti2();
    return m_.lambda * std::sqrt(variance) +
           scale_ * (hard + std::abs(y1) + std::abs(y2) + std::abs(y3));
  }

  Real value(std::size_t j, std::size_t c) const {
    const Real ua2 = sq(m_.accumulation), nk = rows_of(j);
    Real variance = 0, hard = 0, replayed = 0, result = 0;
    std::vector<Real> parts(static_cast<std::size_t>(o_.heads));
    for (std::size_t i = 0; i < rows_; ++i) {
      if (seen(i) <= j) continue;
      const Row& r = sums_[i];
      const Real p = at(p_, i, j), x = g(i, c);
      Real relative = sf2(i, j) + r.rho2;
      if (eager_) relative += std::max<Real>(0, sq2(i, j) * (1 - 2 * p) + r.a0);
      variance += x * x *
                  (cq_[i] * p * p * relative + (1 + alike(i, j) * (cq_[i] - 1)) * rp2(i, j) +
                   ua2 * nk / 6 * p * p);
      hard += std::abs(x) * (lost(p, m_.storage_underflow, 2 * m_.storage_underflow) + p * r.lost);
      replayed += r_p(i, j) * x;
      hard += tie_p(i, j) * std::abs(x);
      parts[i / static_cast<std::size_t>(o_.queries)] += p * x;
      result += p * x;
    }
    variance += ua2 * nk / 9 * result * result + heads_variance(parts) + nk * ti2();
    return m_.lambda * std::sqrt(variance) + hard + std::abs(replayed);
  }

  struct Row {
    Real rho2 = 0, eta2 = 0, bins = 1, lost = 0, lost_d = 0, y1 = 0, y2 = 0;
    Real a0 = 0, a1 = 0, a2 = 0, products = 0;
  };

  const BackwardOperands& o_;
  const PrecisionModel& m_;
  bool eager_;
  Real uo_, to_;
  std::size_t rows_, keys_, d_;
  Real scale_;
  std::vector<Real> p_, s_, dp_, dev_, own_, t_, out_, max_, lse_, delta_, ck_, cq_;
  std::vector<Row> sums_;
};

}  // namespace gqa::test
