// Keys that repeat and round alike, in audits by the filter and by enclosures.

#include <doctest/doctest.h>

#include "audit/audit_support.hpp"
#include "audit/rounded_kernels.hpp"
#include "gqa/audit/model_choice.hpp"
#include "support/numbers.hpp"
#include "support/random.hpp"

using namespace gqa;

namespace {

// 400 keys of `distinct` kinds, values of one sign that are equal where the keys are, in bfloat16;
// a healthy kernel with bfloat16 weights, moved by `factor`.
test::SmallProblem few_kinds(std::int64_t distinct, double factor, std::uint64_t seed) {
  test::Random random(seed);
  test::SmallProblem p;
  p.type = ElementType::bfloat16;
  p.queries = 1;
  p.keys = 400;
  p.key_size = 16;
  p.value_size = 8;
  const auto kind_of = [distinct](std::int64_t j) { return j % distinct; };
  const auto draw = [&](std::vector<double>& to, std::int64_t rows, std::int64_t width,
                        double mean) {
    for (std::int64_t e = 0; e < rows * width; ++e) {
      to.push_back(test::rounded(bfloat16, mean + random.normal() * (mean > 0 ? 0.2 : 1)));
    }
    for (std::int64_t j = distinct; rows == p.keys && j < rows; ++j) {
      for (std::int64_t c = 0; c < width; ++c) {
        to[static_cast<std::size_t>(j * width + c)] =
            to[static_cast<std::size_t>(kind_of(j) * width + c)];
      }
    }
  };
  draw(p.query, 1, p.key_size, 0);
  draw(p.key, p.keys, p.key_size, 0);
  draw(p.value, p.keys, p.value_size, 1);
  std::vector<double> scores;
  for (std::int64_t j = 0; j < p.keys; ++j) {
    double score = 0;
    for (std::int64_t c = 0; c < p.key_size; ++c) {
      score += p.query[static_cast<std::size_t>(c)] *
               p.key[static_cast<std::size_t>(j * p.key_size + c)] / 4;
    }
    scores.push_back(score);
  }
  const double largest = *std::ranges::max_element(scores);
  for (std::int64_t c = 0; c < p.value_size; ++c) {
    double total = 0, sum = 0;
    for (std::int64_t j = 0; j < p.keys; ++j) {
      const double weight = std::exp(scores[static_cast<std::size_t>(j)] - largest);
      total += weight;
      sum +=
          test::rounded(bfloat16, weight) * p.value[static_cast<std::size_t>(j * p.value_size + c)];
    }
    p.output.push_back(test::rounded(bfloat16, factor * sum / total));
  }
  return p;
}

Verdict verdict_of(const test::SmallProblem& p) {
  return audit_with_candidates(p.problem(), {}, {}).front().result.verdict;
}

}  // namespace

TEST_CASE("equal keys: no healthy kernel is accused because its keys repeat") {
  for (const std::uint64_t seed : test::seeds(60)) {
    CAPTURE(seed);
    const test::SmallProblem p = few_kinds(3, 1, seed);
    CHECK(p.audit(ModelTolerance{.model = &bf16_f32_model}).verdict == Verdict::pass);
    CHECK(verdict_of(p) == Verdict::pass);
  }
}

TEST_CASE("equal keys: what is beyond that, too, fails") {
  CHECK(verdict_of(few_kinds(3, 1.05, 1)) == Verdict::fail);
  CHECK(verdict_of(few_kinds(3, 0, 1)) == Verdict::fail);
  CHECK(verdict_of(few_kinds(400, 1.05, 1)) == Verdict::fail);
}
