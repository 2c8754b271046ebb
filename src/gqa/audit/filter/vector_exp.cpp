#include "gqa/audit/filter/vector_exp.hpp"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gqa/audit/filter/vector_exp.cpp"
#include <hwy/foreach_target.h>
// Highway must see every target before its own header.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gqa {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// At most 8 lanes: two vectors fit into vector_padding.
using Doubles = hn::CappedTag<double, 8>;

double RowMaximum(const double* HWY_RESTRICT x, std::size_t n) {
  const Doubles d;
  const std::size_t lanes = hn::Lanes(d);
  auto even = hn::Set(d, -std::numeric_limits<double>::infinity());
  auto odd = even;
  for (std::size_t j = 0; j < n; j += 2 * lanes) {
    even = hn::Max(even, hn::LoadU(d, x + j));
    odd = hn::Max(odd, hn::LoadU(d, x + j + lanes));
  }
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(even, odd)));
}

double ExpRow(double* HWY_RESTRICT x, std::size_t n, double shift) {
  const Doubles d;
  const std::size_t lanes = hn::Lanes(d);
  const auto shifts = hn::Set(d, shift);
  auto even = hn::Zero(d);
  auto odd = hn::Zero(d);
  for (std::size_t j = 0; j < n; j += 2 * lanes) {
    const auto p0 = hn::Exp(d, hn::Sub(hn::LoadU(d, x + j), shifts));
    const auto p1 = hn::Exp(d, hn::Sub(hn::LoadU(d, x + j + lanes), shifts));
    hn::StoreU(p0, d, x + j);
    hn::StoreU(p1, d, x + j + lanes);
    even = hn::Add(even, p0);
    odd = hn::Add(odd, p1);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
}

WeightMoments ExpRowWithSquares(double* HWY_RESTRICT x, float* HWY_RESTRICT squares, std::size_t n,
                                double shift, double reference) {
  const Doubles d;
  const hn::Rebind<float, Doubles> singles;
  const std::size_t lanes = hn::Lanes(d);
  const auto shifts = hn::Set(d, shift);
  const auto references = hn::Set(d, reference);
  // exp is 0 there, and 0 times minus infinity would not be.
  const auto lowest = hn::Set(d, -1000.0);
  const auto nothing = hn::Set(d, -std::numeric_limits<double>::infinity());
  const auto most = hn::Set(d, std::numeric_limits<double>::infinity());
  auto least = most;
  auto p0 = hn::Zero(d), p1 = p0, p2 = p0, q0 = p0, q1 = p0, q2 = p0;
  for (std::size_t j = 0; j < n; j += lanes) {
    const auto score = hn::LoadU(d, x + j);
    least = hn::Min(least, hn::IfThenElse(hn::Eq(score, nothing), most, score));
    const auto p = hn::Exp(d, hn::Sub(score, shifts));
    const auto square = hn::Mul(p, p);
    hn::StoreU(p, d, x + j);
    hn::StoreU(hn::DemoteTo(singles, square), singles, squares + j);
    const auto y = hn::Max(hn::Sub(score, references), lowest);
    const auto py = hn::Mul(p, y);
    const auto qy = hn::Mul(square, y);
    p0 = hn::Add(p0, p);
    p1 = hn::Add(p1, py);
    p2 = hn::MulAdd(py, y, p2);
    q0 = hn::Add(q0, square);
    q1 = hn::Add(q1, qy);
    q2 = hn::MulAdd(qy, y, q2);
  }
  const auto total = [d](auto v) { return hn::GetLane(hn::SumOfLanes(d, v)); };
  return {{total(p0), total(p1), total(p2)},
          {total(q0), total(q1), total(q2)},
          hn::GetLane(hn::MinOfLanes(d, least))};
}

void SoftcapRow(double* HWY_RESTRICT x, std::size_t n, double cap) {
  const Doubles d;
  const auto caps = hn::Set(d, cap);
  for (std::size_t j = 0; j < n; j += hn::Lanes(d)) {
    const auto y = hn::Div(hn::LoadU(d, x + j), caps);
    hn::StoreU(hn::Mul(caps, hn::Tanh(d, y)), d, x + j);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace gqa
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "gqa/audit/filter/vector_dispatch.hpp"

namespace gqa {

GQA_VECTOR_EXPORT(RowMaximum);
GQA_VECTOR_EXPORT(ExpRow);
GQA_VECTOR_EXPORT(ExpRowWithSquares);
GQA_VECTOR_EXPORT(SoftcapRow);

double row_maximum(const double* x, std::size_t n) {
  return GQA_VECTOR_DISPATCH(RowMaximum)(x, n);
}

double exp_row(double* x, std::size_t n, double shift) {
  return GQA_VECTOR_DISPATCH(ExpRow)(x, n, shift);
}

WeightMoments exp_row_with_squares(double* x, float* squares, std::size_t n, double shift,
                                   double reference) {
  return GQA_VECTOR_DISPATCH(ExpRowWithSquares)(x, squares, n, shift, reference);
}

double exp_one(double x) {
  double row[vector_padding] = {x};
  exp_row(row, vector_padding, 0.0);
  return row[0];
}

void softcap_row(double* x, std::size_t n, double cap) {
  GQA_VECTOR_DISPATCH(SoftcapRow)(x, n, cap);
}

}  // namespace gqa
#endif  // HWY_ONCE
