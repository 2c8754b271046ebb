#include "gqa/diagnose/identify/rule_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "gqa/num/arithmetic.hpp"

namespace gqa::identification {
namespace {

constexpr std::size_t fitted_columns = 24;
constexpr std::size_t most_numbers = 3;

// The free numbers as coordinates: ln scale, curvature over that of a cap at the largest score,
// ln of the sink's weight.
using Coordinates = std::vector<double>;
using Matrix = std::array<std::array<double, most_numbers>, most_numbers>;

class NumberFit {
 public:
  NumberFit(const Hypothesis& start, std::span<const SearchRow> rows, const FreeNumbers& free)
      : start_(start), rows_(rows), free_(free) {
    double largest = 0;
    for (const SearchRow& row : rows) {
      const KeyRange keys = keys_of(start.range, row);
      for (std::int64_t j = keys.begin; j < keys.end; ++j) {
        largest = std::max(largest, std::abs(row.products[extent(j)]) * start.score.scale);
      }
    }
    unit_curvature_ = largest > 0 ? 1 / square(largest) : 1;
  }

  Coordinates begin() const {
    constexpr double hardly = 1e-3;
    Coordinates x{std::log(start_.score.scale)};
    if (free_.softcap) {
      x.push_back(start_.score.curvature > 0 ? start_.score.curvature / unit_curvature_ : hardly);
    }
    if (free_.sink) x.push_back(std::log(start_.score.sink.value_or(0.1)));
    return x;
  }

  Hypothesis at(const Coordinates& x) const {
    Hypothesis hypothesis = start_;
    hypothesis.score.scale = std::exp(x[0]);
    std::size_t next = 1;
    if (free_.softcap) hypothesis.score.curvature = std::max(x[next++], 0.0) * unit_curvature_;
    if (free_.sink) hypothesis.score.sink = std::exp(x[next]);
    return hypothesis;
  }

  // Recorded minus expected, over the size of the row.
  std::vector<double> residuals(const Coordinates& x) const {
    const Hypothesis hypothesis = at(x);
    std::vector<double> all;
    for (const SearchRow& row : rows_) {
      const std::vector<std::size_t> columns = spread_columns(row.columns(), fitted_columns);
      std::vector<double> output = output_of(hypothesis, row, columns);
      if (output.empty()) output.assign(columns.size(), 0.0);
      const double size = std::sqrt(row.square);
      for (std::size_t c = 0; c < columns.size(); ++c) {
        all.push_back((row.output[columns[c]] - output[c]) / size);
      }
    }
    return all;
  }

  double unit_curvature() const { return unit_curvature_; }

 private:
  const Hypothesis& start_;
  std::span<const SearchRow> rows_;
  FreeNumbers free_;
  double unit_curvature_ = 1;
};

double sum_of_squares(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += square(value);
  return std::isfinite(sum) ? sum : std::numeric_limits<double>::infinity();
}

// The inverse of a symmetric matrix of n <= 3 rows by Gauss and Jordan; false: singular.
bool invert(Matrix matrix, std::size_t n, Matrix& inverse) {
  inverse = {};
  for (std::size_t i = 0; i < n; ++i) inverse[i][i] = 1;
  for (std::size_t i = 0; i < n; ++i) {
    const double pivot = matrix[i][i];
    if (!(std::abs(pivot) > 0) || !std::isfinite(pivot)) return false;
    for (std::size_t j = 0; j < n; ++j) {
      matrix[i][j] /= pivot;
      inverse[i][j] /= pivot;
    }
    for (std::size_t k = 0; k < n; ++k) {
      if (k == i) continue;
      const double factor = matrix[k][i];
      for (std::size_t j = 0; j < n; ++j) {
        matrix[k][j] -= factor * matrix[i][j];
        inverse[k][j] -= factor * inverse[i][j];
      }
    }
  }
  return true;
}

struct Normal {
  Matrix squares{};                          // of the derivatives
  std::array<double, most_numbers> right{};  // derivatives times residuals
};

Normal normal_equations(const NumberFit& fit, const Coordinates& x,
                        const std::vector<double>& residuals) {
  constexpr double neighbour = 1e-5;
  std::vector<std::vector<double>> slopes;
  for (std::size_t i = 0; i < x.size(); ++i) {
    Coordinates below = x, above = x;
    below[i] -= neighbour;
    above[i] += neighbour;
    const std::vector<double> low = fit.residuals(below), high = fit.residuals(above);
    std::vector<double>& slope = slopes.emplace_back(low.size());
    for (std::size_t k = 0; k < low.size(); ++k) slope[k] = (low[k] - high[k]) / (2 * neighbour);
  }
  Normal normal;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t k = 0; k < residuals.size(); ++k) {
      normal.right[i] += slopes[i][k] * residuals[k];
      for (std::size_t j = 0; j < x.size(); ++j) {
        normal.squares[i][j] += slopes[i][k] * slopes[j][k];
      }
    }
  }
  return normal;
}

// One step of the method; false: nothing is gained any more.
bool improve(const NumberFit& fit, Coordinates& x, std::vector<double>& residuals,
             double& damping) {
  const double cost = sum_of_squares(residuals);
  const Normal normal = normal_equations(fit, x, residuals);
  constexpr double largest_step = 1.5;
  constexpr int attempts = 8;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    Matrix damped = normal.squares;
    for (std::size_t i = 0; i < x.size(); ++i) damped[i][i] *= 1 + damping;
    Matrix inverse;
    if (!invert(damped, x.size(), inverse)) return false;
    Coordinates next = x;
    double moved = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      double step = 0;
      for (std::size_t j = 0; j < x.size(); ++j) step += inverse[i][j] * normal.right[j];
      step = std::clamp(step, -largest_step, largest_step);
      moved = std::max(moved, std::abs(step));
      next[i] += step;
    }
    std::vector<double> tried = fit.residuals(next);
    if (sum_of_squares(tried) < cost) {
      x = std::move(next);
      residuals = std::move(tried);
      damping = std::max(damping / 10, 1e-12);
      constexpr double settled = 1e-13;
      return moved > settled;
    }
    damping = std::max(damping, 1e-4) * 10;
  }
  return false;
}

// Four standard errors of each coordinate; infinite where the data do not tell it.
std::vector<double> errors_of(const NumberFit& fit, const Coordinates& x,
                              const std::vector<double>& residuals) {
  std::vector<double> errors(x.size(), std::numeric_limits<double>::infinity());
  Matrix inverse;
  if (residuals.size() <= x.size() ||
      !invert(normal_equations(fit, x, residuals).squares, x.size(), inverse)) {
    return errors;
  }
  const double variance =
      sum_of_squares(residuals) / static_cast<double>(residuals.size() - x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error = 4 * std::sqrt(variance * std::abs(inverse[i][i]));
    if (std::isfinite(error)) errors[i] = error;
  }
  return errors;
}

}  // namespace

FittedHypothesis fit_numbers(const Hypothesis& start, std::span<const SearchRow> rows,
                             const FreeNumbers& free) {
  const NumberFit fit(start, rows, free);
  Coordinates x = fit.begin();
  std::vector<double> residuals = fit.residuals(x);
  double damping = 1e-3;
  constexpr int most_steps = 30;
  for (int step = 0; step < most_steps && improve(fit, x, residuals, damping); ++step) {
  }
  const std::vector<double> errors = errors_of(fit, x, residuals);
  FittedHypothesis fitted;
  fitted.hypothesis = fit.at(x);
  fitted.hypothesis.misfit = misfit(fitted.hypothesis, rows);
  const ScoreRule& score = fitted.hypothesis.score;
  fitted.scale = {score.scale, score.scale * errors[0]};
  std::size_t next = 1;
  if (free.softcap) {
    fitted.curvature = MeasuredNumber{score.curvature, errors[next++] * fit.unit_curvature()};
  }
  if (free.sink) fitted.sink = MeasuredNumber{*score.sink, *score.sink * errors[next]};
  return fitted;
}

}  // namespace gqa::identification
