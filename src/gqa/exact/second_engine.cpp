// A problem of the GMP engine, operand by operand, in the second one.
#include <optional>

#include "gqa/exact/fixture_checker.hpp"

namespace gqa {
namespace {

template <class To, class From, class Cast>
std::optional<Tensor<To>> cast_tensor(const std::optional<Tensor<From>>& from, Cast cast) {
  if (!from) return std::nullopt;
  return gqa::cast_tensor<To>(*from, cast);
}

}  // namespace

Problem<BoostNumbers> to_second_engine(const Problem<GmpNumbers>& problem) {
  const auto number = [](const Rational& x) { return to_boost(x); };
  const auto logarithm = [](const LogRational& x) { return log_rational_cast<BoostRational>(x); };
  Problem<BoostNumbers> other;
  other.contract = problem.contract;
  other.lengths = problem.lengths;
  other.mask = problem.mask;
  if (!problem.strengths) {
    other.query = gqa::cast_tensor<BoostLogRational>(problem.query, logarithm);
    other.key = gqa::cast_tensor<BoostRational>(problem.key, number);
  }
  other.value = gqa::cast_tensor<BoostRational>(problem.value, number);
  other.strengths = cast_tensor<BoostRational>(problem.strengths, number);
  other.bias = cast_tensor<BoostLogRational>(problem.bias, logarithm);
  other.score_shift = cast_tensor<BoostLogRational>(problem.score_shift, logarithm);
  if (problem.sink) {
    other.sink.emplace();
    for (const LogRational& sink : *problem.sink) other.sink->push_back(logarithm(sink));
  }
  return other;
}

}  // namespace gqa
