#include "gqa/audit/gradients/gradient_sums.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gqa/audit/gradients/gradient_sums.cpp"
#include <hwy/foreach_target.h>
// Highway must see every target before its own header.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gqa {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::CappedTag<double, 8>;
using Vector = hn::Vec<Doubles>;

void Derivatives(double* HWY_RESTRICT a, const double* HWY_RESTRICT weights,
                 const double* HWY_RESTRICT slope, double delta, std::size_t n) {
  const Doubles d;
  const auto mean = hn::Set(d, delta);
  for (std::size_t j = 0; j < n; j += hn::Lanes(d)) {
    auto t = hn::Mul(hn::LoadU(d, weights + j), hn::Sub(hn::LoadU(d, a + j), mean));
    if (slope != nullptr) t = hn::Mul(t, hn::LoadU(d, slope + j));
    hn::StoreU(t, d, a + j);
  }
}

// to[j] += w * weight + b * product
HWY_INLINE void Accumulate(double* HWY_RESTRICT to, Vector w, Vector b, Vector weight,
                           Vector product) {
  const Doubles d;
  const auto terms = hn::MulAdd(w, weight, hn::Mul(b, product));
  hn::StoreU(hn::Add(hn::LoadU(d, to), terms), d, to);
}

GradientRowSums DerivativesWithSums(double* HWY_RESTRICT a, const double* HWY_RESTRICT weights,
                                    const double* HWY_RESTRICT slope, double delta, std::size_t n,
                                    const double* HWY_RESTRICT shares, const GradientRowFactors& f,
                                    const GradientKeySums& keys) {
  const Doubles d;
  const auto mean = hn::Set(d, delta);
  const auto zero = hn::Zero(d);
  auto weight_sum = zero;
  auto product_sum = zero;
  for (std::size_t j = 0; j < n; j += hn::Lanes(d)) {
    const auto w = hn::LoadU(d, weights + j);
    auto t = hn::Mul(w, hn::Sub(hn::LoadU(d, a + j), mean));
    const auto b = hn::Abs(t);
    if (slope != nullptr) t = hn::Mul(t, hn::LoadU(d, slope + j));
    hn::StoreU(t, d, a + j);
    const auto share = hn::LoadU(d, shares + j);
    weight_sum = hn::MulAdd(w, share, weight_sum);
    product_sum = hn::MulAdd(b, share, product_sum);
    Accumulate(keys.key + j, w, b, hn::Set(d, f.key_weight), hn::Set(d, f.key_product));
    Accumulate(keys.value + j, w, zero, hn::Set(d, f.value_weight), zero);
  }
  return {hn::GetLane(hn::SumOfLanes(d, weight_sum)), hn::GetLane(hn::SumOfLanes(d, product_sum))};
}

void VarianceFactors(const double* HWY_RESTRICT weights, const double* HWY_RESTRICT derivatives,
                     std::size_t n, const GradientVarianceFactors& f, const GradientVariances& to) {
  const Doubles d;
  const hn::Rebind<float, Doubles> s;
  const auto scale = hn::Set(d, f.scale);
  const auto zero = hn::Zero(s);
  const auto u2 = hn::Set(s, f.roundoff2);
  for (std::size_t j = 0; j < n; j += hn::Lanes(d)) {
    const auto w = hn::DemoteTo(s, hn::LoadU(d, weights + j));
    const auto t = hn::DemoteTo(s, hn::Mul(hn::LoadU(d, derivatives + j), scale));
    const auto w2 = hn::Mul(w, w);
    const auto t2 = hn::Mul(t, t);
    const auto seen = hn::Gt(w, zero);
    const auto rounded_t = hn::Max(hn::Mul(t2, u2), hn::IfThenElseZero(seen, hn::Set(s, f.tiny2)));
    const auto rounded_w = hn::Max(hn::Mul(w2, hn::Set(s, f.weight_roundoff2)),
                                   hn::IfThenElseZero(seen, hn::Set(s, f.weight_tiny2)));
    hn::StoreU(w, s, to.weights + j);
    hn::StoreU(hn::MulAdd(t2, hn::Set(s, f.query_derivative),
                          hn::MulAdd(w2, hn::Set(s, f.query_weight), rounded_t)),
               s, to.query + j);
    hn::StoreU(hn::MulAdd(t2, hn::Set(s, f.key_derivative),
                          hn::MulAdd(w2, hn::Set(s, f.key_weight), rounded_t)),
               s, to.key + j);
    hn::StoreU(hn::MulAdd(w2, hn::Set(s, f.value_weight), rounded_w), s, to.value + j);
  }
}

void Slopes(double* HWY_RESTRICT slope, const double* HWY_RESTRICT capped, double cap,
            std::size_t n) {
  const Doubles d;
  const auto one = hn::Set(d, 1.0);
  const auto divisor = hn::Set(d, cap);
  for (std::size_t j = 0; j < n; j += hn::Lanes(d)) {
    const auto ratio = hn::Div(hn::LoadU(d, capped + j), divisor);
    hn::StoreU(hn::NegMulAdd(ratio, ratio, one), d, slope + j);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace gqa
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "gqa/audit/filter/vector_dispatch.hpp"

namespace gqa {

GQA_VECTOR_EXPORT(Derivatives);
GQA_VECTOR_EXPORT(DerivativesWithSums);
GQA_VECTOR_EXPORT(Slopes);
GQA_VECTOR_EXPORT(VarianceFactors);

void score_derivatives(double* a, const double* weights, const double* slope, double delta,
                       std::size_t n) {
  GQA_VECTOR_DISPATCH(Derivatives)(a, weights, slope, delta, n);
}
GradientRowSums score_derivatives(double* a, const double* weights, const double* slope,
                                  double delta, std::size_t n, const double* shares,
                                  const GradientRowFactors& factors, const GradientKeySums& keys) {
  return GQA_VECTOR_DISPATCH(DerivativesWithSums)(a, weights, slope, delta, n, shares, factors,
                                                  keys);
}
void variance_factors(const double* weights, const double* derivatives, std::size_t n,
                      const GradientVarianceFactors& factors, const GradientVariances& to) {
  GQA_VECTOR_DISPATCH(VarianceFactors)(weights, derivatives, n, factors, to);
}
void softcap_slopes(double* slope, const double* capped, double cap, std::size_t n) {
  GQA_VECTOR_DISPATCH(Slopes)(slope, capped, cap, n);
}

}  // namespace gqa
#endif  // HWY_ONCE
