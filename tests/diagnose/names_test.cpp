// Names that say something: what is named, what is measured, and what nothing explains.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>

#include "diagnose/planted_faults.hpp"
#include "diagnose/small_problem.hpp"
#include "gqa/audit/model_choice.hpp"
#include "gqa/diagnose/cases/recording_diagnosis.hpp"

using namespace gqa;
using test::SmallProblem;
using test::SmallRules;

namespace {

Diagnosis diagnosed(const ProblemTensors& tensors, const Contract& contract,
                    const Tolerance& tolerance) {
  AuditOptions options;
  options.tolerance = tolerance;
  const AttentionProblem problem = make_problem(tensors, contract);
  return diagnose_recording(tensors, contract, audit_outputs(problem, tensors, options), tolerance);
}

// Tight to loose, as an audit without a stated tolerance tries them.
Tolerance models(std::vector<const PrecisionModel*> tried) {
  ModelTolerance tolerance;
  tolerance.model = tried.back();
  tolerance.tried = std::move(tried);
  return tolerance;
}
const Tolerance bfloat16_models = models({&bf16_f32_model, &bf16_model});
const Tolerance binary32_model = models({&f32_model});

Contract declared_causal() {
  Contract contract;
  contract.causal = true;
  return contract;
}

// "head_map.tiled | content.zero of lse": what is said, tensor by tensor.
std::string said(const Diagnosis& diagnosis) {
  std::vector<std::string> all;
  for (const Explanation& one : diagnosis.explanations) {
    if (one.faults.empty()) continue;  // a place, no name
    all.push_back(one.tensor == "output" ? one.describe()
                                         : fmt::format("{} of {}", one.describe(), one.tensor));
  }
  for (const TensorAccount& one : diagnosis.tensors) {
    if (one.status == DiagnosisStatus::unexplained) all.push_back("unexplained " + one.tensor);
    if (one.status == DiagnosisStatus::located) all.push_back("located " + one.tensor);
  }
  return fmt::format("{}", fmt::join(all, " | "));
}

std::string said_of_output(SmallProblem& problem, const std::vector<double>& output,
                           const Contract& contract, const Tolerance& tolerance) {
  problem.tensors.output = problem.rounded(problem.output_shape(), output);
  return said(diagnosed(problem.tensors, contract, tolerance));
}

std::vector<double> times(std::vector<double> numbers, double factor) {
  for (double& x : numbers) x *= factor;
  return numbers;
}

}  // namespace

TEST_CASE("names: random outputs of a plausible size are never explained") {
  // T = 1 is where a sum of weights of one, each rounded to 16 bits, covers anything.
  const std::array types{ElementType::binary32, ElementType::bfloat16, ElementType::binary16};
  for (const std::uint64_t seed : test::seeds(24)) {
    CAPTURE(seed);
    test::Random random(seed);
    const ElementType type = types[seed % types.size()];
    SmallProblem problem(
        {.queries = random.pick({std::int64_t{1}, std::int64_t{1}, std::int64_t{3}}),
         .keys = random.integer(6, 64)},
        type, seed);
    const double size = random.pick({0.05, 0.3, 1.0, 4.0});
    std::vector<double> garbage;
    for (std::int64_t n = 0; n < element_count(problem.output_shape()); ++n) {
      garbage.push_back(size * random.normal());
    }
    const Tolerance tolerance = type == ElementType::binary32 ? binary32_model
                                : type == ElementType::bfloat16
                                    ? bfloat16_models
                                    : models({&f16_f32_model, &f16_model});
    CHECK(said_of_output(problem, garbage, declared_causal(), tolerance) == "unexplained output");
  }
}

TEST_CASE("names: outputs of ones are told to be ones, and not explained") {
  SmallProblem problem({.queries = 1, .keys = 48}, ElementType::bfloat16, 3);
  problem.tensors.output = problem.rounded(problem.output_shape(), std::vector<double>(64, 1));
  const Diagnosis diagnosis = diagnosed(problem.tensors, declared_causal(), bfloat16_models);
  CHECK(said(diagnosis) == "unexplained output");
  CHECK(diagnosis.measurements.back() == "the output is 1 everywhere");
}

TEST_CASE("names: under a tolerance as wide as the output nothing is explained, not even truly") {
  SmallProblem problem({.keys = 64}, ElementType::binary32, 5);
  SmallRules tiled = problem.causal();
  tiled.kv_head = [](std::int64_t h) { return h % 2; };
  const std::vector<double> output = problem.output(tiled);
  const std::string narrow = said_of_output(problem, output, declared_causal(),
                                            AbsoluteRelativeTolerance{Rational(1, 1000), 0});
  CHECK(narrow.starts_with("head_map.tiled"));
  // Outputs are of size 0.15; most rows hold no element beyond 1/2.
  CHECK(said_of_output(problem, output, declared_causal(),
                       AbsoluteRelativeTolerance{Rational(1, 2), 0}) == "located output");
}

TEST_CASE("names: zero and NaN everywhere are told before any fault is looked for") {
  for (const double content : {0.0, std::nan("")}) {
    SmallProblem problem({}, ElementType::bfloat16, 7);
    problem.tensors.output = problem.rounded(
        problem.output_shape(),
        std::vector<double>(static_cast<std::size_t>(element_count(problem.output_shape())),
                            content));
    const Diagnosis diagnosis = diagnosed(problem.tensors, declared_causal(), bfloat16_models);
    CHECK(said(diagnosis) == (content == 0 ? "content.zero" : "content.nan"));
    CHECK(diagnosis.status == DiagnosisStatus::measured);
    CHECK(diagnosis.candidates == 0);
    CHECK(diagnosis.explanations.front().sentence() ==
          (content == 0 ? "the output is zero everywhere" : "the output is NaN everywhere"));
  }
}

TEST_CASE("names: a common factor is measured, with the digits that are known, or recognised") {
  struct Sample {
    double factor;
    const char* text;
  };
  for (const Sample& sample :
       {Sample{2, "2"}, Sample{-0.5, "-1/2"}, Sample{0.001953125, "1/512"}, Sample{1000, "1000"},
        Sample{0.25, "1/4"}, Sample{1.5, "3/2"}, Sample{std::sqrt(2.0), "sqrt(2)"},
        Sample{1 / std::log(2.0), "log2 e"}, Sample{std::log(2.0), "ln 2"}}) {
    CAPTURE(sample.factor);
    SmallProblem problem({}, ElementType::binary32, 11);
    const std::vector<double> right = problem.output(problem.causal());
    CHECK(said_of_output(problem, times(right, sample.factor), declared_causal(), binary32_model) ==
          fmt::format("scale.output ({})", sample.text));
  }
  // In bfloat16 some three digits are known.
  for (const double factor : {36.9, 0.0271, 217.0}) {
    CAPTURE(factor);
    SmallProblem problem({.queries = 8, .keys = 40}, ElementType::bfloat16, 12);
    problem.tensors.output =
        problem.rounded(problem.output_shape(), times(problem.output(problem.causal()), factor));
    const Diagnosis diagnosis = diagnosed(problem.tensors, declared_causal(), bfloat16_models);
    REQUIRE(diagnosis.explanations.size() == 1);
    const Fault& fault = diagnosis.explanations.front().faults.front();
    CHECK(fault.kind->slug == "scale.output");
    CHECK(std::stod(fault.measurement) == doctest::Approx(factor).epsilon(2e-3));
    CHECK(fault.measurement.size() <= 6);
  }
}

TEST_CASE("names: factors of every KV head or query head are measured on their own") {
  SmallProblem problem({.q_heads = 4, .kv_heads = 2}, ElementType::binary32, 13);
  SmallRules by_kv = problem.causal();
  by_kv.factor = [](std::int64_t h) { return h < 2 ? 20.5 : 0.25; };
  CHECK(said_of_output(problem, problem.output(by_kv), declared_causal(), binary32_model) ==
        "scale.output (20.5, 1/4 by KV head)");
  SmallRules by_head = problem.causal();
  by_head.factor = [](std::int64_t h) { return h == 3 ? 3.0 : 1.0; };
  CHECK(said_of_output(problem, problem.output(by_head), declared_causal(), binary32_model) ==
        "scale.output (1, 1, 1, 3 by query head)");
}

TEST_CASE("names: another scale is measured, also as a multiple of the declared one") {
  SmallProblem problem({.queries = 8, .keys = 40}, ElementType::bfloat16, 14);
  const auto scaled = [&](double scale) {
    SmallRules rules = problem.causal();
    rules.score = [scale](double product, auto, auto, auto) { return scale * product; };
    return said_of_output(problem, problem.output(rules), declared_causal(), bfloat16_models);
  };
  CHECK(scaled(2) == "scale.other (2: 8 times the declared)");
  CHECK(scaled(0.25 * 29).starts_with("scale.other (7.2"));
}

TEST_CASE("names: ranges of which one end is right keep that end") {
  struct Sample {
    Window declared;
    bool causal;
    std::int64_t first, last;  // what the kernel does
    const char* text;
  };
  for (const Sample& sample : {Sample{{}, true, -99, 2, "causal.diagonal (keys up to p+2)"},
                               Sample{{}, true, -99, -2, "causal.diagonal (keys up to p-2)"},
                               Sample{{-1, 3}, false, -99, 1, "window.right (keys up to p+1)"},
                               Sample{{5, -1}, false, -2, 99, "window.left (keys from p-2)"},
                               Sample{{5, -1}, true, -8, 0, "window.left (keys from p-8)"},
                               Sample{{4, 2}, false, -4, 5, "window.right (keys up to p+5)"}}) {
    CAPTURE(std::string(sample.text));
    SmallProblem problem({.queries = 16, .keys = 16}, ElementType::binary32, 15);
    SmallRules rules = problem.rules();
    rules.visible = [&sample](std::int64_t i, std::int64_t j) {
      return i + sample.first <= j && j <= i + sample.last;
    };
    Contract contract;
    contract.causal = sample.causal;
    contract.window = sample.declared;
    CHECK(said_of_output(problem, problem.output(rules), contract, binary32_model) == sample.text);
  }
  SmallProblem chunk({.queries = 6, .keys = 16}, ElementType::binary32, 16);
  CHECK(said_of_output(chunk, chunk.output(chunk.causal(1)), declared_causal(), binary32_model) ==
        "causal.diagonal (keys up to p+1)");
}

TEST_CASE("names: one fault under a loose model comes before two under a tight one") {
  // Scores and weights stored in binary16: f16-f32 does not explain them, f16 does.
  SmallProblem problem({.queries = 6, .keys = 24}, ElementType::binary16, 17);
  const auto half = [](double x) {
    return decode(binary16, round_to_nearest_even(binary16, Rational(x)));
  };
  const auto output = [&](const SmallRules& rules) {
    SmallRules stored = rules;
    stored.score = [&rules, half](double product, std::int64_t h, std::int64_t i, std::int64_t j) {
      return half(rules.score(half(product), h, i, j));
    };
    return problem.output(stored);
  };
  SmallRules unscaled = problem.causal();
  unscaled.score = [](double product, auto, auto, auto) { return product; };
  const Tolerance both = models({&f16_f32_model, &f16_model});
  CHECK(said_of_output(problem, output(unscaled), declared_causal(), both) == "scale.missing");
  // Nothing is named where the loose model explains it all.
  CHECK(said_of_output(problem, output(problem.causal()), declared_causal(), both).empty());
}

TEST_CASE("names: a pair of which one fault alone changes nothing is found") {
  // The mask is a tree within the causal rule; the kernel ignores it and is causal unasked.
  SmallProblem problem({.queries = 6, .keys = 14}, ElementType::bfloat16, 18);
  std::vector<std::uint64_t> mask;
  for (std::int64_t i = 0; i < 6; ++i) {
    for (std::int64_t j = 0; j < 14; ++j) {
      const bool branch = j <= 8 || j == i + 8 || (j == 9 && i % 2 == 1);
      mask.push_back(branch ? 1 : 0);
    }
  }
  problem.tensors.attn_mask = test::tensor_of_bits(ElementType::boolean, {1, 1, 6, 14}, mask);
  CHECK(said_of_output(problem, problem.output(problem.causal()), Contract{}, bfloat16_models) ==
        "causal.undeclared + mask.ignored");
}

TEST_CASE("names: zeros for the history, x tanh(x) for a softcap, no ALiBi") {
  SmallProblem decode_step({.queries = 1, .keys = 12}, ElementType::bfloat16, 19);
  SmallRules zeros = decode_step.causal();
  zeros.history_is_zero = true;
  CHECK(said_of_output(decode_step, decode_step.output(zeros), declared_causal(),
                       bfloat16_models) == "length.history_zeros");

  SmallProblem capped({.queries = 24, .keys = 24}, ElementType::bfloat16, 20);
  Contract softcap = declared_causal();
  softcap.softcap = 8;
  SmallRules product = capped.causal();
  product.score = [](double raw, auto, auto, auto) {
    const double x = raw / 4 / 8;
    return x * std::tanh(x);
  };
  CHECK(said_of_output(capped, capped.output(product), softcap, bfloat16_models) ==
        "softcap.tanh_product");

  SmallProblem slopes({.queries = 1, .keys = 20}, ElementType::binary32, 21);
  slopes.tensors.alibi_slopes = test::tensor_of({4}, {0.5F, 0.25F, 0.125F, 0.0625F});
  CHECK(said_of_output(slopes, slopes.output(slopes.causal()), declared_causal(), binary32_model) ==
        "bias.alibi_missing");
}

TEST_CASE(
    "names: what a model explains is rounding, under a tolerance that is stated too tightly") {
  SmallProblem problem({.queries = 6, .keys = 40}, ElementType::bfloat16, 22);
  problem.tensors.output =
      problem.rounded(problem.output_shape(), problem.output(problem.causal()));
  const Tolerance tight = AbsoluteRelativeTolerance{Rational(1, 1000000), 0};
  const Diagnosis diagnosis = diagnosed(problem.tensors, declared_causal(), tight);
  CHECK(diagnosis.status == DiagnosisStatus::rounding);
  CHECK(diagnosis.explanations.empty());
  REQUIRE(diagnosis.tensors.size() == 1);
  CHECK(diagnosis.tensors[0].sentence ==
        "only rounding: every element is within what precision model bf16-f32 allows");
  // A fault is no rounding, however the tolerance is stated.
  const std::vector<double> doubled = times(problem.output(problem.causal()), 2);
  CHECK(said_of_output(problem, doubled, declared_causal(), tight) != "");
}

TEST_CASE("names: every output that fails has an account of its own") {
  SmallProblem problem({.q_heads = 4, .queries = 3, .keys = 10}, ElementType::binary32, 23);
  SmallRules tiled = problem.causal();
  tiled.kv_head = [](std::int64_t h) { return h % 2; };
  const auto lse_of = [&](const SmallRules& rules, double factor) {
    std::vector<double> lse;
    for (std::int64_t h = 0; h < 4; ++h) {
      for (std::int64_t i = 0; i < 3; ++i) {
        lse.push_back(0);
        problem.weights(rules, h, i, &lse.back());
        lse.back() *= factor;
      }
    }
    return lse;
  };
  const auto said_with = [&](const std::vector<double>& output, const std::vector<double>& lse) {
    problem.tensors.output = problem.rounded(problem.output_shape(), output);
    problem.tensors.lse = problem.rounded({1, 4, 3}, lse);
    return said(diagnosed(problem.tensors, declared_causal(), binary32_model));
  };
  const std::vector<double> right = problem.output(problem.causal());
  const std::string both = "head_map.tiled | head_map.replica_modulo";
  std::vector<double> garbage;
  test::Random random(24);
  for (int n = 0; n < 12; ++n) garbage.push_back(random.normal());
  CHECK(said_with(problem.output(tiled), lse_of(tiled, 1)) ==
        both + " | head_map.tiled of lse | head_map.replica_modulo of lse");
  CHECK(said_with(problem.output(tiled), garbage) == both + " | unexplained lse");
  CHECK(said_with(right, garbage) == "unexplained lse");
  CHECK(said_with(right, std::vector<double>(12, 0)) == "content.zero of lse");
  CHECK(said_with(right, lse_of(problem.causal(), 1 / std::log(2.0))) ==
        "content.factor (log2 e) of lse");
  SmallRules unscaled = problem.causal();
  unscaled.score = [](double product, auto, auto, auto) { return product; };
  CHECK(said_with(right, lse_of(unscaled, 1)) == "scale.missing of lse | scale.on_weights of lse");
}
