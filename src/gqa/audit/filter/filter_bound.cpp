#include "gqa/audit/filter/filter_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gqa/audit/filter/vector_exp.hpp"
#include "gqa/num/roundoff.hpp"

namespace gqa {
namespace {

constexpr double u = unit_roundoff64;
constexpr double safety = roundoff_safety;

// |rounded - exact| / rounded from above; infinite if `rounded` is zero, subnormal or not
// finite, since products with it would have no relative error.
double relative_error(double rounded, const Ball& exact) {
  if (!std::isfinite(rounded) || rounded < std::numeric_limits<double>::min()) {
    return std::numeric_limits<double>::infinity();
  }
  return abs((Ball(rounded) - exact) / Ball(rounded)).upper_double();
}

// D0 without the share of the bias.
double score_error(const ScoreConstants& constants, double largest_product, double& largest_score) {
  const double accumulation = gamma(static_cast<double>(constants.key_size) + 1);
  double error = (accumulation + constants.scale_error + u) * largest_product + 0x1p-1000;
  largest_score = largest_product + error;
  if (constants.softcap > 0) {
    largest_score = std::min(largest_score, constants.softcap * (1 + constants.softcap_error));
    error += ((tanh_relative_units + 3) * u + constants.softcap_error) * largest_score * safety;
  }
  return error * safety;
}

}  // namespace

ScoreConstants::ScoreConstants(const AttentionProblem& problem)
    : has_bias(problem.has_bias()), key_size(problem.dimensions.key_size) {
  const PrecisionScope precision(128);
  scale = problem.scale_double();
  scale_error = relative_error(scale, problem.scale_ball());
  if (problem.contract.softcap != 0) {
    const Ball exact(problem.contract.softcap);
    softcap = exact.midpoint_double();
    softcap_error = relative_error(softcap, exact);
  }
}

double upper_norm(double square_sum, std::int64_t n) {
  const auto count = static_cast<double>(n);
  return std::sqrt(square_sum + count * 0x1p-1074) * (1 + (count + 8) * u) * safety;
}

RowBound bound_row(const ScoreConstants& constants, const RowHistory& row) {
  RowBound bound;
  double largest_score = 0;
  const double error =
      score_error(constants, row.query_norm * row.key_norm * safety, largest_score);
  const double shift = std::abs(row.shift);
  const double bias = constants.has_bias ? 1 : 0;
  bound.score_radius = (error + bias * u * (largest_score + 2 * shift)) * safety;
  const double common = bound.score_radius + 2 * u * row.travel;
  const double per_distance = (1 + 2 * bias) * u;
  const double terms = static_cast<double>(row.terms);
  const double mean_distance = std::log(std::max(terms, 1.0)) + 1 + row.lift;
  const double theta = common + per_distance * mean_distance;
  const double theta_maximum = common + per_distance * (negligible_below + 2 * lift_limit);
  if (!(theta_maximum <= 0.25) || !(row.lift <= 2 * lift_limit) || !(row.denominator >= 0.5) ||
      !std::isfinite(row.denominator)) {
    return bound;
  }
  const double exponentials = gamma(exp_relative_units * static_cast<double>(1 + row.rescales));
  const double rho = (theta + exponentials) * (1 + 2 * theta_maximum) * safety;
  const double depth = gamma(static_cast<double>(row.block + row.blocks + row.rescales + 2));
  bound.epsilon = (rho + depth * (1 + rho) + terms * 0x1p-900) * safety;
  bound.relative = 2 * bound.epsilon / (1 - bound.epsilon) * safety;
  const double products = terms + static_cast<double>(row.blocks + row.rescales) + 2;
  bound.underflow = (products * 2 + 2) * 0x1p-1074;
  bound.usable = bound.epsilon < 0.5;
  return bound;
}

double lse_radius(double epsilon, double lse, double denominator) {
  return (epsilon / (1 - epsilon) + 4 * u * std::abs(std::log(denominator)) + u * std::abs(lse)) *
         safety;
}

double squares_relative_error(std::int64_t block) {
  return static_cast<double>(block + 16) * 0x1p-24 + 1e-6;
}

double squares_absolute_error(std::int64_t keys) {
  return static_cast<double>(keys + 2) * 0x1p-144;
}

}  // namespace gqa
