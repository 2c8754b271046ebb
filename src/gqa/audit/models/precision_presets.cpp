// The precision models that have a name.
//
// Unit roundoffs are half the distance from 1 to the next number: binary64 2^-53, binary32
// 2^-24, binary16 and TF32 2^-11, bfloat16 2^-8 (IEEE 754-2019, table 3.5), float8 e4m3 2^-4
// (Micikevicius et al., "FP8 formats for deep learning", arXiv:2209.05433, table 1). A step that is
// done in a format has that format's unit roundoff; operands are exact, so what the formats of
// query, key and value are does not matter.
//
//   f64, f32        every step in that format; scores stay in registers.
//   f16-f32,        tensor cores and fused kernels: both products accumulate in binary32,
//   bf16-f32        exp and the denominator are binary32, but the second product reads its
//                   weights in 16 bits, and the output is stored in 16 bits.
//   f16-stored,     eager frameworks: each operation on its own with binary32 sums, but what
//   bf16-stored     it leaves, scores, scaled scores (or scaled operands) and weights, is stored
//                   in 16 bits.
//   fp8-weights     8-bit kernels: binary32 sums, weights in e4m3 under a scale that takes the
//                   largest one near 256 or 448, once or per tile; the output is bfloat16.
//   tf32, f16-products, bf16-products
//                   binary32 tensors whose operands are rounded to that format for both products,
//                   the weights too; sums, exp and output are binary32.
//   bf16x3          the same with each operand split in two bfloat16 parts and three products.
//   f16, bf16       every step in 16 bits, the running sums as well: never assumed, since from some
//                   250 keys on (bfloat16) such a sum may stall at any value.
//
// Underflow, the largest absolute error of rounding a result below the normal range. binary16
// has subnormals with spacing 2^-24 wherever it is implemented (F16C, Arm's FP16, GPUs): half
// of it, 2^-25. Products and exponentials below 2^-14 are common there: exp(-10) is one. e4m3 has
// subnormals 2^-9 apart: half of that under a scale of 256 is 2^-18.
// binary32 and bfloat16 are often flushed to zero below 2^-126, binary64 below 2^-1022: the
// smallest normal number. Unless flushed, a sum in the subnormal range is exact (Hauser, "Handling
// floating-point exceptions in numeric programs", ACM TOPLAS 18(2), 1996).
//
// Tensor cores add 8 (TF32) to 32 (8 bits) products to an accumulator at once and truncate.
#include <algorithm>
#include <array>
#include <cmath>

#include "gqa/audit/models/precision_model.hpp"

namespace gqa {
namespace {

constexpr double u64 = 0x1p-53;
constexpr double u32 = 0x1p-24;
constexpr double u16 = 0x1p-11;
constexpr double ub16 = 0x1p-8;
constexpr double ue4m3 = 0x1p-4;
constexpr double tiny64 = 0x1p-1022;
constexpr double tiny32 = 0x1p-126;  // bfloat16 has binary32's exponents
constexpr double tiny16 = 0x1p-25;
constexpr double tiny_e4m3 = 0x1p-18;

constexpr PrecisionModel uniform(std::string_view name, double u, double stored_score,
                                 double underflow) {
  return {.name = name,
          .score = u,
          .stored_score = stored_score,
          .exponential = u,
          .denominator = u,
          .weight = u,
          .accumulation = u,
          .output = u,
          .weight_underflow = underflow,
          .storage_underflow = underflow,
          .inner_underflow = underflow};
}

// binary32 inside; weights and output have roundoffs and underflows of their own.
constexpr PrecisionModel inside_binary32(std::string_view name, double weight, double output,
                                         double weight_underflow, double products_at_once) {
  PrecisionModel model = uniform(name, u32, 0, tiny32);
  model.weight = weight;
  model.output = output;
  model.weight_underflow = weight_underflow;
  model.products_at_once = products_at_once;
  return model;
}

constexpr PrecisionModel fused(std::string_view name, double u, double underflow) {
  PrecisionModel model = inside_binary32(name, u, u, underflow, 16);
  model.storage_underflow = underflow;
  return model;
}

constexpr PrecisionModel stored(std::string_view name, double u, double underflow) {
  PrecisionModel model = fused(name, u, underflow);
  model.stored_score = u;
  model.operand = u;
  return model;
}

constexpr PrecisionModel eight_bit_weights(std::string_view name) {
  PrecisionModel model = inside_binary32(name, ue4m3, ub16, tiny_e4m3, 32);
  model.weights_scaled = true;
  return model;
}

// binary32 tensors, products of rounded operands.
constexpr PrecisionModel rounded_products(std::string_view name, double u, double underflow,
                                          double products_at_once) {
  PrecisionModel model = inside_binary32(name, u, u32, underflow, products_at_once);
  model.operand = u;
  model.value = u;
  return model;
}

}  // namespace

constinit const PrecisionModel f64_model = uniform("f64", u64, 0, tiny64);
constinit const PrecisionModel f32_model = uniform("f32", u32, 0, tiny32);
constinit const PrecisionModel f16_f32_model = fused("f16-f32", u16, tiny16);
constinit const PrecisionModel bf16_f32_model = fused("bf16-f32", ub16, tiny32);
constinit const PrecisionModel f16_stored_model = stored("f16-stored", u16, tiny16);
constinit const PrecisionModel bf16_stored_model = stored("bf16-stored", ub16, tiny32);
constinit const PrecisionModel fp8_weights_model = eight_bit_weights("fp8-weights");
constinit const PrecisionModel bf16x3_model = rounded_products("bf16x3", 0x1p-16, tiny32, 16. / 3);
constinit const PrecisionModel tf32_model = rounded_products("tf32", u16, tiny32, 8);
constinit const PrecisionModel f16_products_model =
    rounded_products("f16-products", u16, tiny16, 16);
constinit const PrecisionModel bf16_products_model =
    rounded_products("bf16-products", ub16, tiny32, 16);
constinit const PrecisionModel f16_model = uniform("f16", u16, u16, tiny16);
constinit const PrecisionModel bf16_model = uniform("bf16", ub16, ub16, tiny32);

std::span<const PrecisionModel* const> precision_models() {
  static constexpr std::array<const PrecisionModel*, 13> models{
      &f64_model,          &f32_model,           &bf16x3_model,  &tf32_model,
      &f16_products_model, &bf16_products_model, &f16_f32_model, &bf16_f32_model,
      &f16_stored_model,   &bf16_stored_model,   &f16_model,     &bf16_model,
      &fp8_weights_model};
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

FormatRounding PrecisionModel::output_rounding(const FloatFormat& format, bool narrow) const {
  if (format.unit_roundoff() < output && !narrow) {
    return {format.unit_roundoff(), underflow_error(format)};
  }
  return {std::max(output, format.unit_roundoff()),
          std::max(storage_underflow, underflow_error(format))};
}

}  // namespace gqa
