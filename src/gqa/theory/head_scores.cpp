#include "gqa/theory/head_scores.hpp"

#include <algorithm>

#include "gqa/theory/pooling_condition.hpp"

namespace gqa {
namespace {

void multiply_each(RationalVector& vector, const std::optional<RationalVector>& factors) {
  if (!factors) return;
  for (std::size_t c = 0; c < vector.size(); ++c) vector[c] *= (*factors)[c];
}

RationalVector plus(RationalVector a, const RationalVector& b) {
  for (std::size_t c = 0; c < a.size(); ++c) a[c] += b[c];
  return a;
}

// rows matrix.
RationalVector times(const RationalVector& row, const RationalMatrix& matrix) {
  RationalVector result(matrix[0].size());
  for (std::size_t r = 0; r < row.size(); ++r) {
    if (row[r] == 0) continue;
    for (std::size_t c = 0; c < result.size(); ++c) result[c] += row[r] * matrix[r][c];
  }
  return result;
}

// matrix^T matrix.
RationalMatrix gram(const RationalMatrix& matrix) {
  RationalMatrix result(matrix[0].size(), RationalVector(matrix[0].size()));
  for (std::size_t a = 0; a < result.size(); ++a) {
    for (std::size_t b = 0; b < result.size(); ++b) {
      for (const RationalVector& row : matrix) result[a][b] += row[a] * row[b];
    }
  }
  return result;
}

}  // namespace

RationalVector unit_vector(std::size_t size, std::size_t at) {
  RationalVector vector(size);
  vector[at] = 1;
  return vector;
}

RationalVector restricted(const RationalVector& vector, const std::vector<std::size_t>& kept) {
  RationalVector result(vector.size());
  for (const std::size_t c : kept) result[c] = vector[c];
  return result;
}

HeadScores::HeadScores(const ProjectionGroup& group, std::size_t head)
    : group_(group), head_(head), mean_key_(mean_of(group.key_weights)) {
  mean_bias_.assign(group.key_size(), 0);
  for (const RationalVector& bias : group.key_biases) mean_bias_ = plus(mean_bias_, bias);
  for (Rational& x : mean_bias_) x /= static_cast<unsigned long>(group.heads());
}

RationalVector HeadScores::query(const RationalVector& input) const {
  RationalVector result = product(group_.query_weights[head_], input);
  if (!group_.query_biases.empty()) result = plus(result, group_.query_biases[head_]);
  multiply_each(result, group_.layer.query_norm);
  return result;
}

RationalVector HeadScores::key(const RationalVector& input) const {
  const RationalVector result = product(group_.key_weights[head_], input);
  return group_.key_biases.empty() ? result : plus(result, group_.key_biases[head_]);
}

RationalVector HeadScores::pooled_key(const RationalVector& input) const {
  return plus(product(mean_key_, input), mean_bias_);
}

RationalVector HeadScores::key_change(const RationalVector& input) const {
  RationalVector result = key(input);
  const RationalVector pooled = pooled_key(input);
  for (std::size_t c = 0; c < result.size(); ++c) result[c] -= pooled[c];
  return result;
}

bool HeadScores::normalised_keys_agree(const RationalVector& probe,
                                       const RationalVector& input) const {
  const auto square_mean = [this](const RationalVector& k) {
    return Rational(dot(k, k) / static_cast<unsigned long>(k.size()) + *group_.layer.norm_epsilon);
  };
  RationalVector scaled = probe;
  multiply_each(scaled, group_.layer.key_norm);
  const RationalVector own = key(input), pooled = pooled_key(input);
  const Rational a = dot(scaled, own), b = dot(scaled, pooled);
  // a / sqrt(A) = b / sqrt(B).
  return sgn(a) == sgn(b) && Rational(a * a * square_mean(pooled)) == b * b * square_mean(own);
}

// Rows that span the queries of all inputs.
RationalMatrix HeadScores::query_span() const {
  RationalMatrix span;
  if (group_.query_weights.empty()) {
    for (std::size_t c = 0; c < group_.key_size(); ++c) {
      span.push_back(unit_vector(group_.key_size(), c));
    }
    return span;
  }
  // The queries of 0 and of unit inputs: differences are the columns of the projection.
  span.push_back(query(RationalVector(group_.width())));
  for (std::size_t a = 0; a < group_.width(); ++a) {
    span.push_back(query(unit_vector(group_.width(), a)));
  }
  std::erase_if(span, [](const RationalVector& row) { return is_zero(row); });
  return span;
}

// Rows m with: no score changes if m.k changes for none of them.
RationalMatrix HeadScores::probes() const {
  const RationalMatrix span = query_span();
  RationalMatrix rows;
  if (!group_.layer.has_distinct_angles()) {
    const std::size_t distances = group_.layer.rotary ? group_.key_size() : 1;
    for (const RationalVector& query : span) {
      for (std::size_t t = 1; t <= distances; ++t) {
        rows.push_back(group_.layer.turned(query, static_cast<long>(t)));
      }
    }
    return rows;
  }
  const auto parts = group_.layer.parts(group_.key_size());
  for (std::size_t p = 0; p + 1 < parts.size(); ++p) {
    const bool asked = std::ranges::any_of(
        span, [&](const RationalVector& q) { return !is_zero(restricted(q, parts[p])); });
    if (!asked) continue;
    for (const std::size_t c : parts[p]) rows.push_back(unit_vector(group_.key_size(), c));
  }
  for (const RationalVector& query : span) rows.push_back(restricted(query, parts.back()));
  return rows;
}

bool HeadScores::biases_change() const {
  if (group_.key_biases.empty() || !group_.layer.rotary) return false;
  const RationalVector bias = key_change(RationalVector(group_.width()));
  const auto parts = group_.layer.parts(group_.key_size());
  for (const RationalVector& query : query_span()) {
    if (group_.layer.has_distinct_angles()) {
      for (std::size_t p = 0; p + 1 < parts.size(); ++p) {
        if (!is_zero(restricted(query, parts[p])) && !is_zero(restricted(bias, parts[p]))) {
          return true;
        }
      }
      continue;
    }
    for (std::size_t t = 1; t <= group_.key_size(); ++t) {
      if (dot(group_.layer.turned(query, static_cast<long>(t)), bias) != dot(query, bias)) {
        return true;
      }
    }
  }
  return false;
}

bool HeadScores::change() const {
  const RationalMatrix& own = group_.key_weights[head_];
  bool seen = false;
  for (RationalVector row : probes()) {
    multiply_each(row, group_.layer.key_norm);
    const RationalVector key = times(row, own);
    if (key != times(row, mean_key_)) return true;
    seen = seen || !is_zero(key);
  }
  if (group_.layer.key_norm && seen && gram(own) != gram(mean_key_)) return true;
  return biases_change();
}

}  // namespace gqa
