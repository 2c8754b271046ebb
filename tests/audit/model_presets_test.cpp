// Every preset explains the healthy kernels that compute as it says, and not their faults.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "audit/rounded_kernels.hpp"
#include "gqa/audit/audit.hpp"
#include "gqa/audit/enclosure.hpp"

using namespace gqa;
using test::KernelFormats;
using test::kernels_of_all_models;
using test::RoundedFault;
using test::RoundedKernel;
using test::RoundedOperands;
using test::Way;

namespace {

/// Largest errors of an output as multiples of its two bounds.
struct Ratios {
  double likely = 0;
  double worst = 0;
  void merge(const Ratios& other) {
    likely = std::max(likely, other.likely);
    worst = std::max(worst, other.worst);
  }
};

double ratio(const Ball& error, const Ball& bound) {
  return error.upper_double() == 0 ? 0 : (error / bound).upper_double();
}

Ratios ratios(const AttentionProblem& problem, const PrecisionModel& model) {
  Ratios largest;
  const EnclosureReader reader(problem, 0, 0);
  for (std::int64_t i = 0; i < problem.dimensions.queries; ++i) {
    const auto visible = reader.visible(0, i);
    if (visible.empty()) continue;
    const auto row = reader.row(0, i, visible);
    const RowRounding rounding = reader.rounding(0, i, visible, row);
    const RoundingBound bound(model, rounding);
    for (std::int64_t c = 0; c < problem.dimensions.value_size; ++c) {
      const Ball& exact = row.output[static_cast<std::size_t>(c)];
      const auto bounds = bound.column(reader.value_column(visible, c), exact);
      const Ball error = absolute_error(problem.output->value(0, 0, i, c), exact);
      largest.merge(
          {ratio(error, bounds.likely), bounds.worst.is_finite() ? ratio(error, bounds.worst) : 0});
    }
  }
  return largest;
}

enum class Inputs {
  normal,
  uniform,
  positive,
  large_scores,
  equal_values,
  equal_scores,
  all_equal
};
constexpr Inputs all_inputs[] = {Inputs::normal,       Inputs::uniform,      Inputs::positive,
                                 Inputs::large_scores, Inputs::equal_values, Inputs::equal_scores,
                                 Inputs::all_equal};

double draw(Inputs inputs, test::Random& random) {
  switch (inputs) {
    case Inputs::uniform:
      return random.uniform(-1, 1);
    case Inputs::positive:
      return random.uniform(0, 1);
    case Inputs::all_equal:
      return 0.75;
    default:
      return random.normal();
  }
}

RoundedOperands operands_of(Inputs inputs, const KernelFormats& formats, std::int64_t keys,
                            std::int64_t key_size, test::Random& random) {
  RoundedOperands o;
  o.queries = std::min<std::int64_t>(2, keys);
  o.keys = keys;
  o.key_size = key_size;
  o.value_size = 3;
  const auto fill = [&](std::vector<double>& to, std::int64_t count, double factor) {
    for (std::int64_t k = 0; k < count; ++k) {
      to.push_back(test::rounded(formats.stored(), factor * draw(inputs, random)));
    }
  };
  const double factor =
      inputs == Inputs::large_scores ? 4 : (inputs == Inputs::equal_scores ? 0 : 1);
  fill(o.query, o.queries * key_size, factor);
  fill(o.key, keys * key_size, 1);
  fill(o.value, keys * o.value_size, 1);
  if (inputs == Inputs::equal_values) std::ranges::fill(o.value, o.value.front());
  return o;
}

RoundedOperands normal_operands(const KernelFormats& formats, std::int64_t keys,
                                std::uint64_t seed) {
  test::Random random(seed);
  return operands_of(Inputs::normal, formats, keys, 64, random);
}

AuditResult audit_kernel(const RoundedOperands& operands, const KernelFormats& formats, Way way,
                         RoundedFault fault = {}, bool accept_worst_case = false) {
  AuditOptions options;
  options.tolerance = ModelTolerance{formats.model, accept_worst_case};
  return audit(to_problem(operands, formats, RoundedKernel(operands, formats, way, fault).run()),
               options);
}

}  // namespace

TEST_CASE("model presets: the test's own rounding is that of the formats, subnormals and all") {
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

TEST_CASE("model presets: every healthy kernel is within likely of its model, and within worst") {
  const std::vector<std::int64_t> lengths{1, 2, 3, 7, 16, 33, 64, 150, 300};
  for (const KernelFormats& formats : kernels_of_all_models()) {
    for (const Inputs inputs : all_inputs) {
      Ratios largest;
      for (const std::uint64_t seed : test::seeds(9)) {
        test::Random random(seed);
        const std::int64_t keys = lengths[(seed - 1) % lengths.size()];
        const auto key_size = random.pick<std::int64_t>({1, 4, 16, 64});
        RoundedOperands operands = operands_of(inputs, formats, keys, key_size, random);
        operands.causal = random.one_in(2);
        if (random.one_in(3)) operands.sink = random.pick({0.0, -2.0, 3.0});
        for (const Way way : test::all_ways) {
          const auto output = RoundedKernel(operands, formats, way).run();
          const Ratios found = ratios(to_problem(operands, formats, output), *formats.model);
          CAPTURE(formats.model->name);
          CAPTURE(static_cast<int>(inputs));
          CAPTURE(static_cast<int>(way));
          CAPTURE(seed);
          CAPTURE(keys);
          CAPTURE(key_size);
          CHECK(found.likely <= 1);
          CHECK(found.worst <= 1);
          largest.merge(found);
        }
      }
      MESSAGE(fmt::format("{:9} inputs {}: {:.2f} of likely, {:.3f} of worst", formats.model->name,
                          static_cast<int>(inputs), largest.likely, largest.worst));
    }
  }
}
