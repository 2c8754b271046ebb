#include "gqa/theory/exact_input.hpp"

#include <doctest/doctest.h>

#include "support/errors.hpp"

using namespace gqa;

TEST_CASE("exact input: rows of numbers from a flag") {
  CHECK(parse_matrix("4,0;0,1/2", "--values") == RationalMatrix{{4, 0}, {0, make_rational(1, 2)}});
  CHECK(parse_vector("-1.5", "--point") == RationalVector{make_rational(-3, 2)});
  const auto refusal = [](const char* text) {
    return test::refusal_of([&] { parse_matrix(text, "--values"); });
  };
  CHECK(refusal("1,2;3") == "exact_input.ragged at --values[1]");
  CHECK(refusal("1,2;3,x") == "rational.syntax at --values[1][1]");
  CHECK(refusal("") == "rational.empty at --values[0][0]");
  CHECK(refusal("1,2;") == "rational.empty at --values[1][0]");
}

TEST_CASE("exact input: nested lists of integers and exact strings") {
  const auto json = nlohmann::json::parse(R"([[[1, "1/2"], [3, 4]], [[5, 6], [7, 8]]])");
  const Tensor<Rational> tensor = tensor_from_json(json, 3, "values");
  CHECK(tensor.shape() == Shape{2, 2, 2});
  CHECK(to_matrices(tensor) ==
        RationalMatrices{{{1, make_rational(1, 2)}, {3, 4}}, {{5, 6}, {7, 8}}});
  const auto refusal = [](const char* text, std::size_t rank) {
    return test::refusal_of([&] { tensor_from_json(nlohmann::json::parse(text), rank, "values"); });
  };
  CHECK(refusal("[[1, 2], [3]]", 2) == "fixture.ragged at values[1]");
  CHECK(refusal("[[1, 0.5]]", 2) == "fixture.field_type at values[0][1]");
  CHECK(refusal("[1]", 2) == "fixture.field_type at values");
}
