// Every preset explains the healthy kernels that compute as it says, and not their faults.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "audit/rounded_kernels.hpp"
#include "gqa/audit/audit.hpp"
#include "gqa/audit/enclose/enclosure.hpp"

using namespace gqa;
using test::Errors;
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
    const RowRounding rounding = reader.rounding(model, 0, i, visible, row);
    const RoundingBound bound(model, rounding, model.output_rounding(problem.output->format()));
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

double fault_ratio(const RoundedOperands& operands, const KernelFormats& formats,
                   RoundedFault fault) {
  const auto output = RoundedKernel(operands, formats, Way::tiles, fault).run();
  return ratios(to_problem(operands, formats, output), *formats.model).likely;
}

}  // namespace

TEST_CASE("model presets: every healthy kernel is within likely of its model, and within worst") {
  const std::vector<std::int64_t> lengths{1, 2, 3, 7, 16, 33, 64, 150, 300};
  for (const KernelFormats& formats : kernels_of_all_models()) {
    for (const Inputs inputs : all_inputs) {
      Ratios largest;
      for (const std::uint64_t seed : test::seeds(9)) {
        test::Random random(seed);
        // Beyond the first nine seeds up to five times as long.
        const std::uint64_t round = (seed - 1) / lengths.size();
        const std::int64_t keys =
            lengths[(seed - 1) % lengths.size()] * static_cast<std::int64_t>(round % 5 + 1);
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
          // A sum that stalls is not explained by rounding's likely size: see below.
          const bool may_stall = static_cast<double>(keys) * formats.model->denominator > 2;
          if (!may_stall) CHECK(found.likely <= 1);
          CHECK(found.worst <= 1);
          if (!may_stall) largest.merge(found);
        }
      }
      MESSAGE(fmt::format("{:9} inputs {}: {:.2f} of likely, {:.3f} of worst", formats.model->name,
                          static_cast<int>(inputs), largest.likely, largest.worst));
    }
  }
}

TEST_CASE("model presets: steps that all err by their whole unit stay within worst") {
  for (const KernelFormats& formats : kernels_of_all_models()) {
    double largest = 0;
    for (const std::uint64_t seed : test::seeds(12)) {
      test::Random random(seed);
      const auto keys = random.pick<std::int64_t>({1, 2, 3, 20, 70});
      const auto key_size = random.pick<std::int64_t>({1, 8, 64});
      const Inputs inputs = all_inputs[seed % std::size(all_inputs)];
      const RoundedOperands operands = operands_of(inputs, formats, keys, key_size, random);
      for (const Way way : test::all_ways) {
        for (const Errors errors : {Errors::up, Errors::down}) {
          const auto output = RoundedKernel(operands, formats, way, {}, errors).run();
          const Ratios found = ratios(to_problem(operands, formats, output), *formats.model);
          CAPTURE(formats.model->name);
          CAPTURE(static_cast<int>(way));
          CAPTURE(seed);
          CHECK(found.worst <= 1);
          largest = std::max(largest, found.worst);
        }
      }
    }
    MESSAGE(fmt::format("{:9} {:.3f} of worst", formats.model->name, largest));
  }
}

TEST_CASE("model presets: one missing key fails with normal inputs, up to 300 keys") {
  for (const KernelFormats& formats : kernels_of_all_models()) {
    for (const std::int64_t keys : {4, 64, 300}) {
      // Sums in 16 bits are worse at 64 keys than a missing key.
      if (formats.model == &f16_model && keys > 4) continue;
      if (formats.model == &bf16_model && keys > 4) continue;
      const RoundedOperands operands = normal_operands(formats, keys, 5);
      const RoundedFault fault{.missing_key = keys / 2};
      CAPTURE(formats.model->name);
      CAPTURE(keys);
      CHECK(audit_kernel(operands, formats, Way::tiles).verdict == Verdict::pass);
      CHECK(audit_kernel(operands, formats, Way::tiles, fault).verdict == Verdict::fail);
      MESSAGE(fmt::format("{:9} missing one of {} keys: {:.1f} times likely", formats.model->name,
                          keys, fault_ratio(operands, formats, fault)));
    }
  }
}

TEST_CASE("model presets: a dropped sink of logit zero fails at few keys") {
  const std::vector<std::pair<const PrecisionModel*, std::vector<std::int64_t>>> seen{
      {&f64_model, {1, 16, 300}},     {&f32_model, {1, 16, 300}}, {&f16_f32_model, {1, 16, 300}},
      {&bf16_f32_model, {1, 16, 32}}, {&f16_model, {1, 16}},      {&bf16_model, {1}}};
  for (const KernelFormats& formats : kernels_of_all_models()) {
    for (const auto& [model, lengths] : seen) {
      if (model != formats.model) continue;
      for (const std::int64_t keys : lengths) {
        RoundedOperands operands = normal_operands(formats, keys, 6);
        operands.sink = 0;
        const RoundedFault fault{.missing_key = {}, .drop_sink = true};
        CAPTURE(model->name);
        CAPTURE(keys);
        CHECK(audit_kernel(operands, formats, Way::tiles).verdict == Verdict::pass);
        CHECK(audit_kernel(operands, formats, Way::tiles, fault).verdict == Verdict::fail);
        MESSAGE(fmt::format("{:9} sink dropped beside {} keys: {:.1f} times likely", model->name,
                            keys, fault_ratio(operands, formats, fault)));
      }
    }
  }
}

TEST_CASE("model presets: outputs that are subnormal in binary16 may be off by half a step") {
  const KernelFormats formats = kernels_of_all_models()[2];
  RoundedOperands operands;
  operands.keys = 2;
  operands.query = {0};
  operands.key = {1, 2};
  operands.value = {0x1p-24, 0x1p-23};  // the mean is 1.5 steps of 2^-24
  const auto verdict = [&](double output) {
    AuditOptions options;
    options.tolerance = ModelTolerance{&f16_f32_model};
    return audit(to_problem(operands, formats, {output}), options).verdict;
  };
  CHECK(verdict(0x1p-24) == Verdict::pass);
  CHECK(verdict(0x1p-23) == Verdict::pass);
  CHECK(verdict(0x1.8p-23) == Verdict::fail);
  CHECK(verdict(0) == Verdict::fail);
}

TEST_CASE("model presets: normalised weights below binary16's normal range are explained") {
  const KernelFormats formats = kernels_of_all_models()[2];
  test::Random random(7);
  for (const Inputs inputs : {Inputs::positive, Inputs::equal_scores}) {
    RoundedOperands operands = operands_of(inputs, formats, 20000, 1, random);
    operands.queries = 1;
    operands.query.resize(1);
    CAPTURE(static_cast<int>(inputs));
    CHECK(audit_kernel(operands, formats, Way::normalised).verdict == Verdict::pass);
  }
}

TEST_CASE("model presets: copies of two keys, which round alike, are within likely") {
  const KernelFormats formats = kernels_of_all_models()[3];
  RoundedOperands operands;
  operands.keys = 300;
  operands.query = {1};
  for (int j = 0; j < 300; ++j) {
    operands.key.push_back(j % 2 == 0 ? 1 : 0.625);
    operands.value.push_back(j % 2 == 0 ? 100 : -73);
  }
  const auto found =
      ratios(to_problem(operands, formats, RoundedKernel(operands, formats, Way::normalised).run()),
             *formats.model);
  CHECK(found.likely < 1);
  CHECK(found.worst < 1);
  CHECK(audit_kernel(operands, formats, Way::normalised).verdict == Verdict::pass);
}

TEST_CASE("model presets: a bfloat16 denominator stalled at 256 is beyond likely, not proved") {
  // 4000 equal weights of 1, added one by one: 256 + 1 rounds to 256. The numerator, one 128
  // and zeros, does not stall: the output is 128 / 256 instead of 128 / 4000.
  const KernelFormats formats = kernels_of_all_models()[5];
  RoundedOperands operands;
  operands.keys = 4000;
  operands.query = {0x1p-12};
  // Scores that differ, and weights that round to 1.
  for (int j = 0; j < 4000; ++j) operands.key.push_back(std::ldexp(128 + j % 128, -7 - j / 128));
  operands.value.assign(4000, 0);
  operands.value[2000] = 128;
  CHECK(RoundedKernel(operands, formats, Way::single_key).run() == std::vector{0.5});
  const AuditResult result = audit_kernel(operands, formats, Way::single_key);
  CHECK(result.verdict == Verdict::fail);
  CHECK(result.strength == FailureStrength::statistical);
  // 4000 tiles leave no worst case in bfloat16, and nothing passes by a bound that is not there.
  CHECK(audit_kernel(operands, formats, Way::single_key, {}, true).verdict == Verdict::undecided);
  // What does not stall is within, and so would be zeros.
  CHECK(audit_kernel(operands, formats, Way::tiles).verdict == Verdict::undecided);
  // Of equal scores it is what rounding does: nothing is decided.
  operands.query = {0};
  CHECK(audit_kernel(operands, formats, Way::single_key).verdict == Verdict::undecided);
}
