// The precision models that have a name.
//
// Unit roundoffs are half the distance from 1 to the next number: binary64 2^-53, binary32
// 2^-24, binary16 2^-11, bfloat16 2^-8 (IEEE 754-2019, table 3.5). A step that is done in a
// format has that format's unit roundoff; operands are exact, so what the formats of query,
// key and value are does not matter.
//
//   f64, f32        every step in that format; scores stay in registers.
//   f16-f32,        tensor cores and fused kernels: both products accumulate in binary32,
//   bf16-f32        exp and the denominator are binary32, but the second product reads its
//                   weights in 16 bits, and the output is stored in 16 bits.
//   f16, bf16       every step in 16 bits, the scores stored between steps as well.
//
// Underflow, the largest absolute error of rounding a result below the normal range. binary16
// has subnormals with spacing 2^-24 wherever it is implemented (F16C, Arm's FP16, GPUs): half
// of it, 2^-25. Products and exponentials below 2^-14 are common there: exp(-10) is one.
// binary32 and bfloat16 are often flushed to zero below 2^-126, binary64 below 2^-1022: the
// smallest normal number. Unless flushed, a sum in the subnormal range is exact (Hauser, "Handling
// floating-point exceptions in numeric programs", ACM TOPLAS 18(2), 1996).
#include <algorithm>
#include <array>
#include <cmath>

#include "gqa/audit/precision_model.hpp"

namespace gqa {
namespace {

constexpr double u64 = 0x1p-53;
constexpr double u32 = 0x1p-24;
constexpr double u16 = 0x1p-11;
constexpr double ub16 = 0x1p-8;
constexpr double tiny64 = 0x1p-1022;
constexpr double tiny32 = 0x1p-126;  // bfloat16 has binary32's exponents
constexpr double tiny16 = 0x1p-25;

constexpr PrecisionModel uniform(std::string_view name, double u, double stored_score,
                                 double underflow) {
  return {name, u, stored_score, u, u, u, u, u, underflow, underflow};
}

// binary32 inside, `u` for weights and output.
constexpr PrecisionModel mixed(std::string_view name, double u, double storage_underflow) {
  return {name, u32, 0, u32, u32, u, u32, u, storage_underflow, tiny32};
}

}  // namespace

constinit const PrecisionModel f64_model = uniform("f64", u64, 0, tiny64);
constinit const PrecisionModel f32_model = uniform("f32", u32, 0, tiny32);
constinit const PrecisionModel f16_f32_model = mixed("f16-f32", u16, tiny16);
constinit const PrecisionModel bf16_f32_model = mixed("bf16-f32", ub16, tiny32);
constinit const PrecisionModel f16_model = uniform("f16", u16, u16, tiny16);
constinit const PrecisionModel bf16_model = uniform("bf16", ub16, ub16, tiny32);

std::span<const PrecisionModel* const> precision_models() {
  static constexpr std::array<const PrecisionModel*, 6> models{
      &f64_model, &f32_model, &f16_f32_model, &bf16_f32_model, &f16_model, &bf16_model};
  return models;
}

const PrecisionModel* find_precision_model(std::string_view name) {
  const auto models = precision_models();
  const auto found = std::ranges::find(models, name, &PrecisionModel::name);
  return found == models.end() ? nullptr : *found;
}

std::vector<std::string_view> model_names() {
  std::vector<std::string_view> names;
  for (const PrecisionModel* model : precision_models()) names.push_back(model->name);
  return names;
}

double underflow_error(const FloatFormat& format) {
  const bool flushed = format.minimum_exponent <= -126;
  return flushed ? std::ldexp(1.0, format.minimum_exponent) : format.smallest_subnormal() / 2;
}

double PrecisionModel::output_roundoff(const FloatFormat& format) const {
  return std::max(output, format.unit_roundoff());
}

double PrecisionModel::output_underflow(const FloatFormat& format) const {
  return std::max(storage_underflow, underflow_error(format));
}

}  // namespace gqa
