#include "gqa/audit/enclose/reference.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "gqa/attention/encoded_tensor.hpp"
#include "gqa/attention/tensor_view.hpp"
#include "gqa/num/ball.hpp"
#include "support/numbers.hpp"
#include "support/random.hpp"

using namespace gqa;
using gqa::test::infinity;
using gqa::test::not_a_number;

namespace {

// One head, one width: q [T], k [S], v [S].
AttentionProblem small_problem(std::vector<double> query, std::vector<double> key,
                               std::vector<double> value, const Contract& contract = {}) {
  const auto tensor = [](const std::vector<double>& values) {
    return encoded_tensor(ElementType::binary64,
                          {1, 1, static_cast<std::int64_t>(values.size()), 1}, values);
  };
  ProblemTensors tensors;
  tensors.query = tensor(query);
  tensors.key = tensor(key);
  tensors.value = tensor(value);
  return make_problem(tensors, contract);
}

}  // namespace

TEST_CASE("reference: equal scores give the mean, within a radius below an ulp") {
  const CertifiedReference found = certified_reference(small_problem({0}, {1, 2, 3}, {1, 2, 4}));
  REQUIRE(found.value.shape() == Shape{1, 1, 1, 1});
  const Rational mean(7, 3);
  const Rational error = abs(Rational(mean - Rational(found.value.data()[0])));
  CHECK(error <= Rational(found.radius.data()[0]));
  CHECK(found.radius.data()[0] > 0);
  CHECK(found.radius.data()[0] < 0x1p-51);
}

TEST_CASE("reference: random rows agree with the definition in 400 bits") {
  for (const std::uint64_t seed : test::seeds(100)) {
    CAPTURE(seed);
    test::Random random(seed);
    std::vector<double> key;
    std::vector<double> value;
    const double query = random.normal();
    for (std::int64_t j = random.integer(1, 9); j > 0; --j) {
      key.push_back(4 * random.normal());
      value.push_back(random.normal());
    }
    const CertifiedReference found = certified_reference(small_problem({query}, key, value));
    const PrecisionScope precision(400);
    Ball total = 0;
    Ball sum = 0;
    for (std::size_t j = 0; j < key.size(); ++j) {
      const Ball weight = exp(Ball(query) * Ball(key[j]));  // dk = 1: the scale is 1
      total += weight;
      sum += weight * Ball(value[j]);
    }
    const Ball error = abs(sum / total - Ball(found.value.data()[0]));
    CAPTURE(to_text(error));
    CAPTURE(found.radius.data()[0]);
    CHECK(error.lower() <= Rational(found.radius.data()[0]));
    CHECK(found.radius.data()[0] <= 0x1p-52 * std::abs(found.value.data()[0]) + 0x1p-90);
  }
}

TEST_CASE("reference: an empty row holds what the policy says") {
  Contract contract;
  contract.causal = true;  // two queries, one key: row 0 sees none
  const auto row = [&contract](EmptyRow policy) {
    contract.empty_row = policy;
    const CertifiedReference found = certified_reference(small_problem({1, 1}, {1}, {5}, contract));
    CHECK(found.value.data()[1] == 5);
    CHECK(found.radius.data()[1] < 0x1p-50);
    return std::pair(found.value.data()[0], found.radius.data()[0]);
  };
  CHECK(row(EmptyRow::zero) == std::pair(0.0, 0.0));
  CHECK(row(EmptyRow::mean).first == 5);
  CHECK(std::isnan(row(EmptyRow::nan).first));
  CHECK(row(EmptyRow::nan).second == 0);
  CHECK(std::isnan(row(EmptyRow::any).first));
  CHECK(row(EmptyRow::any).second == infinity);
}

TEST_CASE("reference: a row that reads NaN or infinity has no number and no radius") {
  for (const double wrong : {not_a_number, infinity}) {
    const CertifiedReference found = certified_reference(small_problem({1}, {1, wrong}, {1, 1}));
    CHECK(std::isnan(found.value.data()[0]));
    CHECK(found.radius.data()[0] == infinity);
  }
}
