#include "gqa/audit/filter/vector_norms.hpp"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gqa/audit/filter/vector_norms.cpp"
#include <hwy/foreach_target.h>
// Highway must see every target before its own header.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gqa {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::CappedTag<double, 8>;

double SquareSum(const double* HWY_RESTRICT row, std::size_t n) {
  const Doubles d;
  const std::size_t lanes = hn::Lanes(d);
  auto even = hn::Zero(d);
  auto odd = hn::Zero(d);
  for (std::size_t t = 0; t < n; t += 2 * lanes) {
    const auto x = hn::LoadU(d, row + t);
    const auto y = hn::LoadU(d, row + t + lanes);
    even = hn::MulAdd(x, x, even);
    odd = hn::MulAdd(y, y, odd);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
}

double LargestSquareSum(const double* HWY_RESTRICT data, std::size_t rows, std::size_t n) {
  double largest = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    const double sum = SquareSum(data + r * n, n);
    // Written so that NaN does not pass.
    if (!(sum <= std::numeric_limits<double>::max())) {
      return std::numeric_limits<double>::infinity();
    }
    if (sum > largest) largest = sum;
  }
  return largest;
}

KeyPowers PowersOfRows(const double* HWY_RESTRICT data, std::size_t rows, std::size_t n) {
  const Doubles d;
  KeyPowers powers;
  for (std::size_t r = 0; r < rows; ++r, data += n) {
    auto second = hn::Zero(d);
    auto fourth = hn::Zero(d);
    for (std::size_t t = 0; t < n; t += hn::Lanes(d)) {
      const auto x = hn::LoadU(d, data + t);
      const auto square = hn::Mul(x, x);
      second = hn::Add(second, square);
      fourth = hn::MulAdd(square, square, fourth);
    }
    const double sum = hn::GetLane(hn::SumOfLanes(d, second));
    const double sum4 = hn::GetLane(hn::SumOfLanes(d, fourth));
    if (!(sum <= std::numeric_limits<double>::max())) {
      powers.largest_square_sum = std::numeric_limits<double>::infinity();
      return powers;
    }
    if (sum > powers.largest_square_sum) powers.largest_square_sum = sum;
    if (sum4 < powers.smallest_fourth_sum) powers.smallest_fourth_sum = sum4;
    if (sum4 > powers.largest_fourth_sum) powers.largest_fourth_sum = sum4;
  }
  return powers;
}

double FourthPowerSum(const double* HWY_RESTRICT row, std::size_t n) {
  const Doubles d;
  auto sum = hn::Zero(d);
  for (std::size_t t = 0; t < n; t += hn::Lanes(d)) {
    const auto x = hn::LoadU(d, row + t);
    const auto square = hn::Mul(x, x);
    sum = hn::MulAdd(square, square, sum);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

void ColumnMaxima(double* HWY_RESTRICT maxima, const double* HWY_RESTRICT data, std::size_t rows,
                  std::size_t n) {
  const Doubles d;
  const hn::RebindToSigned<Doubles> bits;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t c = 0; c < n; c += 2 * lanes) {
    // Magnitudes order as their bits do, infinities and NaN on top.
    auto even = hn::Zero(bits);
    auto odd = hn::Zero(bits);
    const double* HWY_RESTRICT at = data + c;
    for (std::size_t r = 0; r < rows; ++r, at += n) {
      even = hn::Max(even, hn::BitCast(bits, hn::Abs(hn::LoadU(d, at))));
      odd = hn::Max(odd, hn::BitCast(bits, hn::Abs(hn::LoadU(d, at + lanes))));
    }
    hn::StoreU(hn::BitCast(d, even), d, maxima + c);
    hn::StoreU(hn::BitCast(d, odd), d, maxima + c + lanes);
  }
}

bool RaiseIfFinite(double* HWY_RESTRICT maxima, const double* HWY_RESTRICT more, std::size_t n) {
  const Doubles d;
  const auto zero = hn::Zero(d);
  auto poison = zero;  // 0 * v is NaN exactly if v is not finite
  for (std::size_t c = 0; c < n; c += hn::Lanes(d)) {
    poison = hn::MulAdd(hn::LoadU(d, more + c), zero, poison);
  }
  if (!(hn::GetLane(hn::SumOfLanes(d, poison)) == 0.0)) return false;
  for (std::size_t c = 0; c < n; c += hn::Lanes(d)) {
    hn::StoreU(hn::Max(hn::LoadU(d, maxima + c), hn::LoadU(d, more + c)), d, maxima + c);
  }
  return true;
}

void RescaleAndAdd(double* HWY_RESTRICT sums, const double* HWY_RESTRICT more, double factor,
                   std::size_t n) {
  const Doubles d;
  const auto factors = hn::Set(d, factor);
  for (std::size_t c = 0; c < n; c += hn::Lanes(d)) {
    const auto scaled = hn::Mul(hn::LoadU(d, sums + c), factors);
    hn::StoreU(hn::Add(scaled, hn::LoadU(d, more + c)), d, sums + c);
  }
}

void RescaleAndAddSingle(double* HWY_RESTRICT sums, const float* HWY_RESTRICT more, double scale,
                         double factor, std::size_t n) {
  const Doubles d;
  const hn::Rebind<float, Doubles> singles;
  const auto factors = hn::Set(d, factor);
  const auto scales = hn::Set(d, scale);
  for (std::size_t c = 0; c < n; c += hn::Lanes(d)) {
    const auto scaled = hn::Mul(hn::LoadU(d, sums + c), factors);
    const auto wide = hn::PromoteTo(d, hn::LoadU(singles, more + c));
    hn::StoreU(hn::MulAdd(wide, scales, scaled), d, sums + c);
  }
}

void SquaresAsSingle(float* HWY_RESTRICT squares, const double* HWY_RESTRICT values, double scale,
                     std::size_t n) {
  const Doubles d;
  const hn::Rebind<float, Doubles> singles;
  const auto scales = hn::Set(d, scale);
  for (std::size_t c = 0; c < n; c += hn::Lanes(d)) {
    const auto v = hn::Mul(hn::LoadU(d, values + c), scales);
    hn::StoreU(hn::DemoteTo(singles, hn::Mul(v, v)), singles, squares + c);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace gqa
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "gqa/audit/filter/vector_dispatch.hpp"

namespace gqa {

GQA_VECTOR_EXPORT(SquareSum);
GQA_VECTOR_EXPORT(LargestSquareSum);
GQA_VECTOR_EXPORT(PowersOfRows);
GQA_VECTOR_EXPORT(FourthPowerSum);
GQA_VECTOR_EXPORT(ColumnMaxima);
GQA_VECTOR_EXPORT(RaiseIfFinite);
GQA_VECTOR_EXPORT(RescaleAndAdd);
GQA_VECTOR_EXPORT(RescaleAndAddSingle);
GQA_VECTOR_EXPORT(SquaresAsSingle);

double square_sum(const double* row, std::size_t n) {
  return GQA_VECTOR_DISPATCH(SquareSum)(row, n);
}
double largest_square_sum(const double* data, std::size_t rows, std::size_t n) {
  return GQA_VECTOR_DISPATCH(LargestSquareSum)(data, rows, n);
}
KeyPowers powers_of_rows(const double* data, std::size_t rows, std::size_t n) {
  return GQA_VECTOR_DISPATCH(PowersOfRows)(data, rows, n);
}
double fourth_power_sum(const double* row, std::size_t n) {
  return GQA_VECTOR_DISPATCH(FourthPowerSum)(row, n);
}
void column_maxima(double* maxima, const double* data, std::size_t rows, std::size_t n) {
  GQA_VECTOR_DISPATCH(ColumnMaxima)(maxima, data, rows, n);
}
bool raise_if_finite(double* maxima, const double* more, std::size_t n) {
  return GQA_VECTOR_DISPATCH(RaiseIfFinite)(maxima, more, n);
}
void rescale_and_add(double* sums, const double* more, double factor, std::size_t n) {
  GQA_VECTOR_DISPATCH(RescaleAndAdd)(sums, more, factor, n);
}
void rescale_and_add(double* sums, const float* more, double scale, double factor, std::size_t n) {
  GQA_VECTOR_DISPATCH(RescaleAndAddSingle)(sums, more, scale, factor, n);
}
void squares_as_single(float* squares, const double* values, double scale, std::size_t n) {
  GQA_VECTOR_DISPATCH(SquaresAsSingle)(squares, values, scale, n);
}

}  // namespace gqa
#endif  // HWY_ONCE
