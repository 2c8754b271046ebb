#include "gqa/audit/models/score_bound.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "audit/outputs_support.hpp"
#include "gqa/audit/outputs/score_audit.hpp"

using namespace gqa;
using gqa::test::tensor_of;

namespace {

// A binary32 kernel of one head: 0: scale the product, 1: scale the query, 2: the square root
// of the scale on both sides, as ONNX's reference does. The sums run left to right.
struct FloatRow {
  std::vector<float> query, key;  // [dk], [S, dk]
  std::vector<float> bias;        // [S]
  float softcap = 0;
  float sink = 0;
  bool has_sink = false;
  int scaling = 0;
  float lost = 0;  // a fault: relative error of every score

  std::size_t width() const { return query.size(); }
  std::size_t keys() const { return bias.size(); }

  float score(std::size_t j, int mode) const {
    const float scale = 1 / std::sqrt(static_cast<float>(width()));
    const float root = std::sqrt(scale);
    float sum = 0;
    for (std::size_t t = 0; t < width(); ++t) {
      float q = query[t];
      float k = key[j * width() + t];
      if (scaling == 1) q *= scale;
      if (scaling == 2) {
        q *= root;
        k *= root;
      }
      sum += q * k;
    }
    if (scaling == 0) sum *= scale;
    sum *= 1 + lost;
    if (mode >= 1) sum = softcap * std::tanh(sum / softcap);
    return mode >= 2 ? sum + bias[j] : sum;
  }
  float largest() const {
    float result = has_sink ? sink : score(0, 2);
    for (std::size_t j = 0; j < keys(); ++j) result = std::max(result, score(j, 2));
    return result;
  }
  float denominator() const {
    float sum = has_sink ? std::exp(sink - largest()) : 0;
    for (std::size_t j = 0; j < keys(); ++j) sum += std::exp(score(j, 2) - largest());
    return sum;
  }
  float lse() const { return largest() + std::log(denominator()); }
  std::vector<double> recorded(int mode, bool from_lse) const {
    std::vector<double> result;
    for (std::size_t j = 0; j < keys(); ++j) {
      const float weight = from_lse ? std::exp(score(j, 2) - lse())
                                    : std::exp(score(j, 2) - largest()) / denominator();
      result.push_back(static_cast<double>(mode == 3 ? weight : score(j, mode)));
    }
    return result;
  }
};

FloatRow random_row(test::Random& random, std::size_t width, std::size_t keys, double size) {
  FloatRow row;
  const auto number = [&] { return static_cast<float>(random.normal() * size); };
  for (std::size_t t = 0; t < width; ++t) row.query.push_back(number());
  for (std::size_t t = 0; t < width * keys; ++t) row.key.push_back(number());
  for (std::size_t j = 0; j < keys; ++j) row.bias.push_back(number());
  row.softcap = random.pick({2.5F, 30.0F});
  row.has_sink = random.one_in(2);
  row.sink = number();
  row.scaling = static_cast<int>(random.integer(0, 2));
  return row;
}

AuditResult audited(const FloatRow& row, int mode, bool worst_case, bool from_lse) {
  const auto width = static_cast<std::int64_t>(row.width());
  const auto keys = static_cast<std::int64_t>(row.keys());
  ProblemTensors t;
  t.query = tensor_of({1, 1, 1, width}, row.query);
  t.key = tensor_of({1, 1, keys, width}, row.key);
  t.value = test::counting(ElementType::binary32, {1, 1, keys, 1});
  t.output = tensor_of({1, 1, 1, 1}, {0});
  t.attn_mask = tensor_of({1, keys}, row.bias);
  if (row.has_sink) t.sink = tensor_of({1}, {row.sink});
  Contract contract;
  contract.softcap = Rational(static_cast<double>(row.softcap));
  AuditOptions options;
  options.tolerance = ModelTolerance{&f32_model, worst_case};
  const AttentionProblem problem = make_problem(t, contract);
  if (mode == 4) {
    const auto lse = tensor_of(ElementType::binary32, {1, 1, 1}, {static_cast<double>(row.lse())});
    return audit_lse(problem, lse, options);
  }
  const auto recorded =
      tensor_of(ElementType::binary32, {1, 1, 1, keys}, row.recorded(mode, from_lse));
  return audit_qk_matmul_output(problem, recorded, mode, options);
}

}  // namespace

TEST_CASE("score bounds: healthy binary32 kernels stay within the likely bound in every mode") {
  for (const std::uint64_t seed : test::seeds(5)) {
    test::Random random(seed);
    const auto width = random.pick<std::size_t>({1, 3, 8, 64, 128});
    const double size = random.pick({0.1, 1.0, 3.0});
    const FloatRow row = random_row(random, width, random.one_in(4) ? 200 : 7, size);
    const bool from_lse = random.one_in(2);
    CAPTURE(seed);
    for (int mode = 0; mode <= 4; ++mode) {
      CAPTURE(mode);
      CHECK(audited(row, mode, false, from_lse).verdict == Verdict::pass);
    }
  }
}

TEST_CASE("score bounds: scores that are off by a thousandth are refuted in every mode") {
  for (const std::uint64_t seed : test::seeds(20)) {
    test::Random random(seed);
    FloatRow row = random_row(random, 8, 40, 2.0);
    row.softcap = 30;
    row.has_sink = false;
    row.lost = 1e-3F;
    CAPTURE(seed);
    for (int mode = 0; mode <= 4; ++mode) {
      CAPTURE(mode);
      CHECK(audited(row, mode, false, false).verdict == Verdict::fail);
    }
    CHECK(audited(row, 0, true, false).strength == FailureStrength::proved);
    CHECK(audited(row, 3, true, false).strength == FailureStrength::proved);
  }
}

TEST_CASE("score bounds: both are finite and positive on ordinary rows") {
  for (const std::uint64_t seed : test::seeds(100)) {
    test::Random random(seed);
    const auto number = [&random] { return Ball(random.normal()); };
    RowRounding row;
    row.key_size = random.integer(1, 64);
    row.visible = 5;
    row.scale = Ball(0.125);
    row.query_norm2 = Ball(8);
    row.query_norm4_squared = Ball(3);
    Ball total;
    for (int k = 0; k < 5; ++k) {
      row.key_norm2.push_back(Ball(8));
      row.key_norm4_squared.push_back(Ball(3));
      row.scores.push_back(number());
      row.weights.push_back(exp(row.scores.back()));
      total += row.weights.back();
    }
    for (Ball& weight : row.weights) weight = weight / total;
    row.raw_scores = row.scores;
    const WeightBound bound(f32_model, row, f32_model.output_rounding(binary32));
    CAPTURE(seed);
    for (std::size_t k = 0; k < 5; ++k) {
      CHECK(less(Ball(0), bound.weight(k).likely).certainly());
      CHECK(less(bound.weight(k).worst, Ball(1e-3)).certainly());
    }
    CHECK(less(Ball(0), bound.lse(log(total)).likely).certainly());
    CHECK(less(bound.lse(log(total)).worst, Ball(1e-3)).certainly());
  }
}
