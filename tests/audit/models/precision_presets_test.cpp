// What the presets say, and the rounding by which the other tests hold them to it.
#include <doctest/doctest.h>

#include "audit/rounded_kernels.hpp"

using namespace gqa;
using test::KernelFormats;
using test::kernels_of_all_models;

TEST_CASE("precision_presets: units and underflow are those of the formats") {
  CHECK(model_names() == std::vector<std::string_view>{"f64", "f32", "bf16x3", "tf32",
                                                       "f16-products", "bf16-products", "f16-f32",
                                                       "bf16-f32", "f16-stored", "bf16-stored",
                                                       "f16", "bf16", "fp8-weights"});
  for (const KernelFormats& formats : kernels_of_all_models()) {
    const PrecisionModel& m = *formats.model;
    CAPTURE(m.name);
    CHECK(find_precision_model(m.name) == &m);
    const double inner = formats.inner->unit_roundoff();
    const double stored = formats.stored().unit_roundoff();
    CHECK(std::vector{m.score, m.exponential, m.denominator, m.accumulation} ==
          std::vector{inner, inner, inner, inner});
    CHECK(std::vector{m.weight, m.output} == std::vector{stored, stored});
    CHECK(m.stored_score == (formats.scores_stored ? stored : 0));
    CHECK(m.inner_underflow == underflow_error(*formats.inner));
    CHECK(m.storage_underflow == underflow_error(formats.stored()));
  }
  CHECK(underflow_error(binary16) == 0x1p-25);
  CHECK(underflow_error(bfloat16) == 0x1p-126);
  CHECK(underflow_error(float8_e4m3fn) == 0x1p-10);
}

TEST_CASE("precision_presets: an output is also rounded to the format that it is recorded in") {
  const auto is = [](const FormatRounding& rounding, double roundoff, double underflow) {
    return rounding.roundoff == roundoff && rounding.underflow == underflow;
  };
  CHECK(is(f32_model.output_rounding(binary16), 0x1p-11, 0x1p-25));
  CHECK(is(f64_model.output_rounding(binary64), 0x1p-53, 0x1p-1022));
  CHECK(bf16_f32_model.output_rounding(float8_e5m2).roundoff == 0x1p-3);
  // A wider format is what the kernel stored, unless all its values are of the narrower one.
  CHECK(is(bf16_f32_model.output_rounding(binary32), 0x1p-24, 0x1p-126));
  CHECK(is(f16_model.output_rounding(binary32, true), 0x1p-11, 0x1p-25));
  CHECK(is(fp8_weights_model.output_rounding(bfloat16), 0x1p-8, 0x1p-126));
}

TEST_CASE("precision_presets: the test's own rounding is that of the formats, subnormals and all") {
  for (const FloatFormat* format : {&binary64, &binary32, &binary16, &bfloat16, &float8_e5m2}) {
    for (const std::uint64_t seed : test::seeds(3000)) {
      test::Random random(seed);
      double x = random.corner_double();
      if (random.one_in(2)) {
        x = random.uniform(-4, 4) * std::ldexp(1.0, format->minimum_exponent - 3);
      }
      const auto bits = round_to_nearest_even(*format, Rational(x));
      CAPTURE(format->name);
      CAPTURE(x);
      CHECK(test::rounded(*format, x) == decode(*format, bits));
    }
  }
}
