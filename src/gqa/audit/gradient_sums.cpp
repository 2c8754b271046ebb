#include "gqa/audit/gradient_sums.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gqa/audit/gradient_sums.cpp"
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
  const bool worst = keys.worst_key != nullptr;
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
    if (!worst) continue;
    Accumulate(keys.worst_key + j, w, b, hn::Set(d, f.worst_key_weight),
               hn::Set(d, f.worst_key_product));
    Accumulate(keys.worst_value + j, w, zero, hn::Set(d, f.worst_value_weight), zero);
  }
  return {hn::GetLane(hn::SumOfLanes(d, weight_sum)), hn::GetLane(hn::SumOfLanes(d, product_sum))};
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
#include "gqa/audit/vector_dispatch.hpp"

namespace gqa {

GQA_VECTOR_EXPORT(Derivatives);
GQA_VECTOR_EXPORT(DerivativesWithSums);
GQA_VECTOR_EXPORT(Slopes);

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
void softcap_slopes(double* slope, const double* capped, double cap, std::size_t n) {
  GQA_VECTOR_DISPATCH(Slopes)(slope, capped, cap, n);
}

}  // namespace gqa
#endif  // HWY_ONCE
