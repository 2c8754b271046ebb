#include <array>

#include "gqa/theory/certificate_rules/arithmetic.hpp"
#include "gqa/theory/certificate_rules/rules.hpp"
#include "gqa/theory/certificate_rules/score_layer.hpp"

namespace gqa::certificate_rules {
namespace {

RationalVector difference(RationalVector a, const RationalVector& b) {
  require(a.size() == b.size(), "two vectors have different lengths");
  for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return a;
}

template <class List>
bool all_equal(const List& all) {
  for (const auto& one : all) {
    if (one != all[0]) return false;
  }
  return true;
}

bool is_zero_matrix(const RationalMatrix& rows) {
  for (const RationalVector& row : rows) {
    if (!is_zero(row)) return false;
  }
  return true;
}

RationalVector mean_row(const RationalMatrix& rows) {
  RationalVector sum = combination(RationalVector(rows.size(), 1), rows);
  for (Rational& x : sum) x /= static_cast<unsigned long>(rows.size());
  return sum;
}

// weight input + bias.
RationalVector projected(const RationalMatrix& weight, const RationalVector& input,
                         const RationalVector* bias) {
  RationalVector result = product(weight, input);
  if (bias == nullptr) return result;
  require(bias->size() == result.size(), "a bias does not fit its projection");
  for (std::size_t c = 0; c < result.size(); ++c) result[c] += (*bias)[c];
  return result;
}

// What a head and the mean of its group make of inputs.
struct Projections {
  ScoreLayer layer;
  RationalMatrices keys, values;
  RationalMatrix mean_key;

  std::size_t key_size() const { return keys[0].size(); }

  RationalVector key(std::size_t head, const RationalVector& input) const {
    return projected(keys[head], input, layer.key_biases ? &(*layer.key_biases)[head] : nullptr);
  }
  RationalVector pooled_key(const RationalVector& input) const {
    const RationalVector bias =
        layer.key_biases ? mean_row(*layer.key_biases) : RationalVector(key_size());
    return projected(mean_key, input, &bias);
  }
  RationalVector key_change(std::size_t head, const RationalVector& input) const {
    return difference(key(head, input), pooled_key(input));
  }
  // |k|^2 / dk + epsilon.
  Rational square_mean(const RationalVector& key) const {
    return Rational(dot(key, key) / static_cast<unsigned long>(key.size()) + layer.norm_epsilon);
  }
  // probe.g (n(k) - n(mean k)) is zero: a / sqrt(A) = b / sqrt(B) exactly if the signs are those
  // of each other and a^2 B = b^2 A.
  bool normalised_keys_agree(std::size_t head, const RationalVector& probe,
                             const RationalVector& input) const {
    RationalVector scaled = probe;
    for (std::size_t c = 0; c < scaled.size(); ++c) scaled[c] *= (*layer.key_norm)[c];
    const RationalVector own = key(head, input), pooled = pooled_key(input);
    const Rational a = dot(scaled, own), b = dot(scaled, pooled);
    return sgn(a) == sgn(b) && Rational(a * a * square_mean(pooled)) == b * b * square_mean(own);
  }
};

Projections read_projections(CertificateFields& fields) {
  Projections p{read_score_layer(fields),
                fields.matrices("key_weights"),
                fields.matrices("value_weights"),
                {}};
  require(p.keys.size() == p.values.size(), "there are not as many keys as values");
  require(p.keys[0][0].size() == p.values[0][0].size(), "keys and values have other inputs");
  require_fits(p.layer, p.keys.size(), p.key_size());
  require(all_equal(p.values), "the value projections are not equal");
  if (p.layer.value_biases) {
    require(p.layer.value_biases->size() == p.values.size() &&
                (*p.layer.value_biases)[0].size() == p.values[0].size(),
            "biases do not fit the values");
    require(all_equal(*p.layer.value_biases), "the value projections are not equal");
  }
  p.mean_key = mean(p.keys);
  return p;
}

std::size_t head_of(CertificateFields& fields, std::size_t heads) {
  const std::int64_t head = fields.integer("head");
  require(head >= 0 && head < static_cast<std::int64_t>(heads), "there is no such head");
  return static_cast<std::size_t>(head);
}

std::string loss_of_values(CertificateFields& fields) {
  const ScoreLayer layer = read_score_layer(fields);
  const RationalMatrices values = fields.matrices("value_weights");
  const std::size_t head = head_of(fields, values.size());
  const RationalVector input = fields.vector("input");
  const RationalVector own = fields.vector("output");
  const RationalVector pooled = fields.vector("pooled_output");
  RationalVector bias(values[0].size()), mean_bias = bias;
  if (layer.value_biases) {
    require(layer.value_biases->size() == values.size(), "biases do not fit the values");
    bias = (*layer.value_biases)[head];
    mean_bias = mean_row(*layer.value_biases);
  }
  require(projected(values[head], input, &bias) == own, "the output is not as stated");
  require(projected(mean(values), input, &mean_bias) == pooled,
          "the pooled output is not as stated");
  require(own != pooled, "both outputs are equal");
  return fmt::format(
      "pooling these {} projections changes head {} on one position: {} becomes {}, for {}",
      values.size(), head, to_text(own), to_text(pooled), layer.words());
}

// The query of the input, up to the positive factor of its normalisation.
RationalVector read_query(CertificateFields& fields, const Projections& p, std::size_t head,
                          const RationalVector& input) {
  const RationalVector query = fields.vector("query");
  require(query.size() == p.key_size(), "the query does not fit the keys");
  if (fields.is_null("query_weight")) {
    require(!p.layer.query_biases && !p.layer.query_norm,
            "queries from elsewhere have a bias or a normalisation");
    return query;
  }
  RationalVector made = projected(fields.matrix("query_weight"), input,
                                  p.layer.query_biases ? &(*p.layer.query_biases)[head] : nullptr);
  require(made.size() == query.size(), "the query is not that of the input");
  for (std::size_t c = 0; c < made.size() && p.layer.query_norm; ++c) {
    made[c] *= (*p.layer.query_norm)[c];
  }
  require(made == query, "the query is not that of the input");
  return query;
}

// The inputs between the earlier one and the query's keep their place among the scores.
void require_between(const Projections& p, std::size_t head, const RationalVector& query,
                     const RationalVector& input, std::int64_t distance) {
  require(distance >= 1 && distance <= static_cast<std::int64_t>(p.key_size()) + 1,
          "the distance is not in 1..dk + 1");
  const RationalVector own = p.key_change(head, input);
  for (std::int64_t t = distance == 1 ? 1 : 0; t < distance; ++t) {
    const RationalVector probe = p.layer.turned(query, t);
    const bool same = p.layer.key_norm ? p.normalised_keys_agree(head, probe, input)
                                       : dot(probe, own) == dot(query, own);
    require(same, "the inputs between change their scores");
  }
}

std::string loss_of_scores(CertificateFields& fields, bool normalised) {
  const Projections p = read_projections(fields);
  const std::size_t head = head_of(fields, p.keys.size());
  const RationalVector earlier = fields.vector("earlier_input");
  const RationalVector input = fields.vector("input");
  const RationalVector query = read_query(fields, p, head, input);
  const std::int64_t distance = fields.integer("distance");
  require(!p.layer.has_distinct_angles(), "the angles are not stated");
  require(p.layer.key_norm.has_value() == normalised, "the loss does not fit the layer");
  require(!is_zero(product(p.values[head], difference(earlier, input))),
          "both positions have one value");
  require_between(p, head, query, input, distance);
  // q.R^-t k = (R^t q).k.
  const RationalVector probe = p.layer.turned(query, distance);
  const std::string where =
      fmt::format("pooling these {} projections changes head {} on {} positions", p.keys.size(),
                  head, distance + 1);
  if (normalised) {
    require(!is_zero(product(p.values[head], input)), "both positions have one value");
    require(!p.normalised_keys_agree(head, probe, earlier), "the normalised scores are equal");
    return fmt::format("{}, with the first input {} or 0, for {}", where, to_text(earlier),
                       p.layer.words());
  }
  const Rational own = fields.number("score_difference");
  const Rational pooled = fields.number("pooled_score_difference");
  require(dot(probe, p.key(head, earlier)) - dot(query, p.key(head, input)) == own,
          "the score difference is not as stated");
  require(dot(probe, p.pooled_key(earlier)) - dot(query, p.pooled_key(input)) == pooled,
          "the pooled score difference is not as stated");
  require(own != pooled, "both score differences are equal");
  return fmt::format("{}: their scores differ by {}, pooled by {}, for {}", where,
                     gqa::to_text(own), gqa::to_text(pooled), p.layer.words());
}

// The vector's coordinates in a plane, or at rest; zero elsewhere.
RationalVector part(const ScoreLayer& layer, const RationalVector& vector,
                    const std::optional<std::size_t>& plane) {
  RationalVector result(vector.size());
  std::vector<std::size_t> kept = layer.coordinates_at_rest(vector.size());
  if (plane) kept = {layer.planes[*plane].first, layer.planes[*plane].second};
  for (const std::size_t c : kept) result[c] = vector[c];
  return result;
}

std::string loss_at_some_distance(CertificateFields& fields) {
  const Projections p = read_projections(fields);
  const std::size_t head = head_of(fields, p.keys.size());
  const RationalVector input = fields.vector("input");
  const RationalVector query = read_query(fields, p, head, input);
  const RationalVector key_input = fields.vector("key_input");
  require(p.layer.has_distinct_angles(), "the angles are not distinct ones");
  require(!is_zero_matrix(p.values[head]), "all values are one");
  std::optional<std::size_t> plane;
  if (!fields.is_null("plane")) {
    const std::int64_t index = fields.integer("plane");
    require(index >= 0 && index < static_cast<std::int64_t>(p.layer.planes.size()),
            "there is no such plane");
    plane = static_cast<std::size_t>(index);
  }
  const RationalVector seen = part(p.layer, query, plane);
  require(!is_zero(seen), "the query is zero in the plane");
  bool changes = false;
  if (p.layer.key_norm) {
    // In a plane one coordinate that changes is enough; at rest the product must.
    for (std::size_t c = 0; c < seen.size() && plane; ++c) {
      RationalVector unit(seen.size());
      unit[c] = 1;
      if (is_zero(difference(part(p.layer, unit, plane), unit))) {
        changes = changes || !p.normalised_keys_agree(head, unit, key_input);
      }
    }
    if (!plane) changes = !p.normalised_keys_agree(head, seen, key_input);
  } else {
    const RationalVector change = p.key_change(head, key_input);
    const RationalVector at_zero = p.key_change(head, RationalVector(key_input.size()));
    changes =
        plane ? !is_zero(part(p.layer, change, plane)) : dot(seen, change) != dot(seen, at_zero);
  }
  require(changes, "no score changes");
  return fmt::format(
      "pooling these {} projections changes head {} for some input of at most {} positions, for {}",
      p.keys.size(), head, p.key_size() + 2, p.layer.words());
}

// The queries that a head can ask, as rows that span them.
RationalMatrix query_span(const Projections& p, const RationalMatrices& queries, std::size_t head) {
  if (queries.empty()) {
    RationalMatrix units(p.key_size(), RationalVector(p.key_size()));
    for (std::size_t c = 0; c < units.size(); ++c) units[c][c] = 1;
    return units;
  }
  RationalMatrix span = transposed(queries[head]);
  if (p.layer.query_biases) span.push_back((*p.layer.query_biases)[head]);
  for (RationalVector& row : span) {
    for (std::size_t c = 0; c < row.size() && p.layer.query_norm; ++c) {
      row[c] *= (*p.layer.query_norm)[c];
    }
  }
  return span;
}

// Rows m such that no score changes if m k is kept for each (distinct angles: by plane).
RationalMatrix probes(const Projections& p, const RationalMatrix& span) {
  RationalMatrix rows;
  if (!p.layer.has_distinct_angles()) {
    const std::size_t distances = p.layer.planes.empty() ? 1 : p.key_size();
    for (const RationalVector& query : span) {
      for (std::size_t t = 1; t <= distances; ++t) {
        rows.push_back(p.layer.turned(query, static_cast<std::int64_t>(t)));
      }
    }
    return rows;
  }
  for (std::size_t plane = 0; plane < p.layer.planes.size(); ++plane) {
    bool asked = false;
    for (const RationalVector& query : span) {
      asked = asked || !is_zero(part(p.layer, query, plane));
    }
    if (!asked) continue;
    for (const std::size_t c : {p.layer.planes[plane].first, p.layer.planes[plane].second}) {
      rows.emplace_back(p.key_size());
      rows.back()[c] = 1;
    }
  }
  for (const RationalVector& query : span) rows.push_back(part(p.layer, query, std::nullopt));
  return rows;
}

void require_scores_kept(const Projections& p, std::size_t head, const RationalMatrix& span) {
  RationalMatrix rows = probes(p, span);
  if (p.layer.key_norm) {
    for (RationalVector& row : rows) {
      for (std::size_t c = 0; c < row.size(); ++c) row[c] *= (*p.layer.key_norm)[c];
    }
  }
  const RationalMatrix own = product(rows, p.keys[head]);
  require(own == product(rows, p.mean_key), "a head's scores change");
  if (p.layer.key_norm) {
    require(is_zero_matrix(own) || product(transposed(p.keys[head]), p.keys[head]) ==
                                       product(transposed(p.mean_key), p.mean_key),
            "a head's normalised scores change");
  }
  if (!p.layer.key_biases || p.layer.planes.empty()) return;
  const RationalVector bias =
      difference((*p.layer.key_biases)[head], mean_row(*p.layer.key_biases));
  // Turned by t or not, a bias counts alike; at rest it is the same for all positions.
  if (p.layer.has_distinct_angles()) {
    for (std::size_t plane = 0; plane < p.layer.planes.size(); ++plane) {
      for (const RationalVector& query : span) {
        require(is_zero(part(p.layer, query, plane)) || is_zero(part(p.layer, bias, plane)),
                "a head's scores change by its bias");
      }
    }
    return;
  }
  for (const RationalVector& query : span) {
    for (std::size_t t = 1; t <= p.key_size(); ++t) {
      require(dot(p.layer.turned(query, static_cast<std::int64_t>(t)), bias) == dot(query, bias),
              "a head's scores change by its bias");
    }
  }
}

}  // namespace

std::string weight_pooling_loss(CertificateFields& fields) {
  const std::string loss = fields.text("loss");
  if (loss == "values_differ") return loss_of_values(fields);
  if (loss == "some_distance") return loss_at_some_distance(fields);
  require(loss == "scores_differ" || loss == "normalised_scores_differ", "the loss is not known");
  return loss_of_scores(fields, loss == "normalised_scores_differ");
}

std::string weight_pooling_lossless(CertificateFields& fields) {
  const Projections p = read_projections(fields);
  RationalMatrices queries;
  if (!fields.is_null("query_weights")) {
    queries = fields.matrices("query_weights");
    require(queries.size() == p.keys.size(), "there are not as many queries as keys");
    require(queries[0].size() == p.key_size(), "queries and keys have other sizes");
  } else {
    require(!p.layer.query_biases && !p.layer.query_norm,
            "queries from elsewhere have a bias or a normalisation");
  }
  for (std::size_t h = 0; h < p.keys.size() && !is_zero_matrix(p.values[0]); ++h) {
    require_scores_kept(p, h, query_span(p, queries, h));
  }
  return fmt::format("pooling these {} projections changes no output of any input, for {}",
                     p.keys.size(), p.layer.words());
}

}  // namespace gqa::certificate_rules
