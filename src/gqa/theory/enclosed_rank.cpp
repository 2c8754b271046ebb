#include "gqa/theory/enclosed_rank.hpp"

#include <algorithm>
#include <cmath>

#include "gqa/theory/certificate_writer.hpp"

namespace gqa {
namespace {

using nlohmann::ordered_json;
using Reals = std::vector<std::vector<double>>;

Reals zeros(std::size_t rows, std::size_t columns) {
  return Reals(rows, std::vector<double>(columns));
}

RationalMatrix exact_of(const Reals& rows) {
  RationalMatrix result;
  for (const std::vector<double>& row : rows) {
    result.emplace_back();
    for (const double x : row) result.back().push_back(rational_from_double(x, "certificate"));
  }
  return result;
}

double inner(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Reals multiplied(const Reals& a, const Reals& b) {
  Reals result = zeros(a.size(), b[0].size());
  for (std::size_t r = 0; r < a.size(); ++r) {
    for (std::size_t k = 0; k < b.size(); ++k) {
      for (std::size_t c = 0; c < b[k].size(); ++c) result[r][c] += a[r][k] * b[k][c];
    }
  }
  return result;
}

Reals flipped(const Reals& a) {
  Reals result = zeros(a[0].size(), a.size());
  for (std::size_t r = 0; r < a.size(); ++r) {
    for (std::size_t c = 0; c < a[r].size(); ++c) result[c][r] = a[r][c];
  }
  return result;
}

// By Gauss and Jordan with pivots; a singular matrix gives what the checker rejects.
Reals inverted(Reals a) {
  const std::size_t n = a.size();
  Reals inverse = zeros(n, n);
  for (std::size_t k = 0; k < n; ++k) inverse[k][k] = 1;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t r = k; r < n; ++r) {
      if (std::abs(a[r][k]) > std::abs(a[pivot][k])) pivot = r;
    }
    std::swap(a[k], a[pivot]);
    std::swap(inverse[k], inverse[pivot]);
    const double scale = a[k][k] == 0 ? 0 : 1 / a[k][k];
    for (std::size_t c = 0; c < n; ++c) {
      a[k][c] *= scale;
      inverse[k][c] *= scale;
    }
    for (std::size_t r = 0; r < n; ++r) {
      const double factor = a[r][k];
      if (r == k || factor == 0) continue;
      for (std::size_t c = 0; c < n; ++c) {
        a[r][c] -= factor * a[k][c];
        inverse[r][c] -= factor * inverse[k][c];
      }
    }
  }
  return inverse;
}

std::vector<double> attended(const std::vector<double>& query, const Reals& keys,
                             const Reals& values, double scale, std::size_t visible) {
  std::vector<double> scores, output(values[0].size());
  for (std::size_t j = 0; j < visible; ++j) scores.push_back(scale * inner(query, keys[j]));
  const double largest = *std::ranges::max_element(scores);
  double total = 0;
  for (std::size_t j = 0; j < visible; ++j) {
    const double strength = std::exp(scores[j] - largest);
    total += strength;
    for (std::size_t c = 0; c < output.size(); ++c) output[c] += strength * values[j][c];
  }
  for (double& x : output) x /= total;
  return output;
}

// The direction in which the outputs are largest, in thousandths.
RationalVector direction_of(const Reals& outputs, const Reals& weights) {
  constexpr int rounds = 500;
  std::vector<double> x(outputs.size(), 1);
  for (int k = 0; k < rounds; ++k) {
    const std::vector<double> combined = multiplied({x}, outputs)[0];
    x = multiplied({multiplied({combined}, weights)[0]}, flipped(outputs))[0];
    double largest = 0;
    for (const double c : x) largest = std::max(largest, std::abs(c));
    for (double& c : x) c /= largest > 0 ? largest : 1;
  }
  RationalVector result;
  for (const double c : x) result.push_back(make_rational(std::lround(c * 1e6), 1'000'000));
  return result;
}

}  // namespace

ordered_json enclosed_rank_certificate(const AttentionProblem& problem,
                                       const Tensor<double>& projection, std::int64_t kv_head,
                                       const SpectrumBounds& bounds) {
  const Dimensions& d = problem.dimensions;
  const auto rows = [](std::int64_t count, std::int64_t width, const auto& entry) {
    Reals result = zeros(static_cast<std::size_t>(count), static_cast<std::size_t>(width));
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t c = 0; c < width; ++c) {
        result[static_cast<std::size_t>(i)][static_cast<std::size_t>(c)] = entry(i, c);
      }
    }
    return result;
  };
  const Reals keys = rows(d.keys, d.key_size, [&](std::int64_t j, std::int64_t c) {
    return problem.key.value(0, kv_head, j, c);
  });
  const Reals values = rows(d.keys, d.value_size, [&](std::int64_t j, std::int64_t c) {
    return problem.value.value(0, kv_head, j, c);
  });
  RationalMatrices queries, projections;
  Reals outputs(static_cast<std::size_t>(d.queries)), weights;
  const double scale = 1 / std::sqrt(static_cast<double>(d.key_size));
  for (std::int64_t h = 0; h < d.q_heads; ++h) {
    if (problem.head_map[static_cast<std::size_t>(h)] != kv_head) continue;
    const Reals query = rows(d.queries, d.key_size, [&](std::int64_t i, std::int64_t c) {
      return problem.query.value(0, h, i, c);
    });
    const std::int64_t width = d.q_heads * d.value_size;
    const Reals weight =
        rows(d.value_size, projection.extent(0), [&](std::int64_t c, std::int64_t r) {
          return projection.data()[static_cast<std::size_t>(r * width + h * d.value_size + c)];
        });
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::size_t visible = keys.size() - outputs.size() + i + 1;
      const std::vector<double> output = attended(query[i], keys, values, scale, visible);
      outputs[i].insert(outputs[i].end(), output.begin(), output.end());
    }
    const Reals square = multiplied(weight, flipped(weight));
    const std::size_t first = weights.size();
    for (const std::vector<double>& row : square) {
      weights.emplace_back(first);
      weights.back().insert(weights.back().end(), row.begin(), row.end());
    }
    queries.push_back(exact_of(query));
    projections.push_back(exact_of(weight));
  }
  for (std::vector<double>& row : weights) row.resize(weights.size());
  const Reals matrix = multiplied(multiplied(flipped(outputs), outputs), weights);
  ordered_json json = new_certificate("enclosed_group_rank");
  json["queries"] = exact_json(queries);
  json["keys"] = exact_json(exact_of(keys));
  json["values"] = exact_json(exact_of(values));
  json["projections"] = exact_json(projections);
  json["scale_squared"] = exact_json(make_rational(1, static_cast<long>(d.key_size)));
  json["inverse"] = exact_json(exact_of(inverted(matrix)));
  json["direction"] = exact_json(direction_of(outputs, weights));
  json["least_participation"] = exact_json(bounds.least_participation);
  json["most_participation"] = exact_json(bounds.most_participation);
  json["least_stable"] = exact_json(bounds.least_stable);
  json["most_stable"] = exact_json(bounds.most_stable);
  return json;
}

}  // namespace gqa
