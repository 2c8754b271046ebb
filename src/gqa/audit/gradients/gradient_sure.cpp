#include "gqa/audit/gradients/gradient_sure.hpp"

#include <algorithm>
#include <limits>

#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

double smallest(const std::vector<double>& values, KeyRange seen) {
  if (seen.empty()) return 0;
  return *std::min_element(values.begin() + seen.begin, values.begin() + seen.end);
}

// What a coefficient of the worst case leaves room for.
double room(double coefficient, double lambda, bool is_bounded) {
  return is_bounded ? square(coefficient / lambda) : std::numeric_limits<double>::infinity();
}

}  // namespace

GradientSureVariances::GradientSureVariances(const GradientRoundings& roundings,
                                             const GradientFacts& facts)
    : roundings_(roundings),
      facts_(facts),
      key4_(smallest(facts.key4, facts.seen)),
      value4_(smallest(facts.value4, facts.seen)),
      value_norm_(smallest(facts.value_norms, facts.seen)) {}

double GradientSureVariances::delta(const GradientOutputSums<double>& output,
                                    const GradientRowWorst<double>& worst) const {
  // With softcap a row's mean key is not the one that it multiplies.
  if (roundings_.stored || roundings_.softcap > 0) return 0;
  const double error = (1 + worst.query_product) * worst.output_magnitudes * output.magnitudes;
  return std::min(output.stored, room(error, roundings_.model.lambda, worst.is_bounded));
}

GradientVarianceFactors GradientSureVariances::factors(const Row& row,
                                                       const GradientRowWorst<double>& worst,
                                                       double unit) const {
  const PrecisionModel& m = roundings_.model;
  const bool bounded = worst.is_bounded;
  const double n = static_cast<double>(row.terms);
  const double us2 = square(m.score);
  const double ua2 = square(m.accumulation);
  const double up2 = square(m.weight) / 3;
  const double query4 = square(roundings_.scale) * facts_.query4[row.at];
  const double sigma2 =
      score_variance(roundings_.unstored, static_cast<std::int64_t>(roundings_.key_size),
                     roundings_.plain, ScoreSquares<double>{query4 * key4_, 0, 0, 0});
  const double rho2 = square(m.denominator) * n / 9 + square(m.exponential * row.lse) / 3;
  const double product =
      roundings_.softcap > 0 ? 0 : us2 * roundings_.value_size / 6 * facts_.grad4[row.at] * value4_;
  const double norms = facts_.grad_norm[row.at] * value_norm_;
  const double more = roundings_.stored ? 2 * up2 : 0;
  const double tiny2 = square(m.weight_underflow) / 3;
  const auto left = [&](double wanted, double coefficient) {
    return std::max(0.0, std::min(wanted, room(coefficient, m.lambda, bounded) - up2));
  };
  const auto weight = [&](double coefficient) {
    return std::min(product, room((1 + coefficient) * worst.norm_error * norms, m.lambda, bounded));
  };
  const auto single = [](double x) { return static_cast<float>(x); };
  GradientVarianceFactors f;
  f.scale = unit;
  f.query_derivative = single(left(sigma2 + us2 + ua2 * n / 6 + more, worst.query_product));
  f.query_weight = single(weight(worst.query_product) * square(unit));
  f.key_derivative = single(left(sigma2 + rho2 + us2 + ua2 / 6 + more, worst.key_product));
  f.key_weight = single((weight(worst.key_product) + delta(row.output, worst)) * square(unit));
  f.value_weight = single(left(sigma2 + rho2 + ua2 / 6, worst.value_weight));
  f.roundoff2 = single(
      std::min(up2, room(std::min(worst.query_product, worst.key_product), m.lambda, bounded)));
  f.weight_roundoff2 = single(std::min(up2, room(worst.value_weight, m.lambda, bounded)));
  f.tiny2 = single(tiny2 * square(unit));
  f.weight_tiny2 = single(tiny2);
  return f;
}

}  // namespace gqa
