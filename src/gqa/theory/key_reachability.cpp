// Reachability by a query against given keys.
#include <optional>
#include <utility>

#include "gqa/theory/attainable.hpp"
#include "gqa/theory/certificate_writer.hpp"

namespace gqa {
namespace {

using nlohmann::ordered_json;

// product(bases ^ exponents), or nullopt if a checker would not evaluate it.
std::optional<Rational> product_of_powers(const RationalVector& bases,
                                          const RationalVector& exponents) {
  PowerRoom room;
  return gqa::product_of_powers(bases, exponents, room);
}

ordered_json key_certificate(const char* kind, const RationalMatrix& values,
                             const RationalMatrix& keys, const RationalVector& point,
                             const RationalVector& weights, const RationalMatrix& inverse) {
  ordered_json json = new_certificate(kind);
  json["values"] = exact_json(values);
  json["keys"] = exact_json(keys);
  json["point"] = exact_json(point);
  json["weights"] = exact_json(weights);
  json["inverse"] = exact_json(inverse);
  return json;
}

// The first relation that the weights break; `too_large` if one cannot be evaluated.
std::optional<RationalVector> broken_relation(const RationalMatrix& relations,
                                              const RationalVector& weights, bool& too_large) {
  for (const RationalVector& relation : relations) {
    const std::optional<Rational> product = product_of_powers(weights, relation);
    if (!product) too_large = true;
    if (product && *product != 1) return relation;
  }
  return std::nullopt;
}

// weights + t direction, all still positive: t = share of the way to where the first is zero.
RationalVector moved(const RationalVector& weights, const RationalVector& direction,
                     const Rational& share) {
  std::optional<Rational> longest;
  for (std::size_t j = 0; j < weights.size(); ++j) {
    if (direction[j] >= 0) continue;
    const Rational length(weights[j] / -direction[j]);
    if (!longest || length < *longest) longest = length;
  }
  RationalVector result = weights;
  // A direction whose entries add up to zero falls somewhere, unless it is zero.
  if (!longest) return result;
  for (std::size_t j = 0; j < result.size(); ++j) result[j] += direction[j] * *longest * share;
  return result;
}

// Other weights along `directions`, which leave the point and the sum as they are, on the other
// side of product(w ^ relation) = 1 than these, or on it; nullopt if none was found.
std::optional<RationalVector> weights_beyond(const RationalMatrix& directions,
                                             const RationalVector& weights,
                                             const RationalVector& relation) {
  constexpr int steps = 24;  // the last is at 1 - 2^-24 of the way to the boundary
  const std::optional<Rational> here = product_of_powers(weights, relation);
  if (!here) return std::nullopt;
  for (const RationalVector& direction : directions) {
    for (const int sign : {1, -1}) {
      RationalVector signed_direction = direction;
      for (Rational& x : signed_direction) x *= sign;
      for (int step = 1; step <= steps; ++step) {
        RationalVector there = moved(weights, signed_direction, Rational(1 - power_of_two(-step)));
        const std::optional<Rational> product = product_of_powers(there, relation);
        if (product && (*here < 1 ? *product >= 1 : *product <= 1)) return there;
      }
    }
  }
  return std::nullopt;
}

// What is asked: values [N, d], keys [N, dk], point [d].
struct Question {
  const RationalMatrix& values;
  const RationalMatrix& keys;
  const RationalVector& point;
};

// 1 - [keys 1] inverse takes every vector to a multiple of one: each of its rows is orthogonal to
// the columns of [keys 1], so a multiple of their only relation.
ordered_json between_certificate(const Question& asked, const RationalVector& found,
                                 const RationalVector& other, const RationalVector& relation,
                                 const RationalMatrix& inverse) {
  const bool is_lower = product_of_powers(found, relation).value_or(0) < 1;
  std::size_t pivot = 0;
  while (relation[pivot] == 0) ++pivot;
  RationalVector remainder;
  for (std::size_t j = 0; j < found.size(); ++j) {
    Rational entry = j == pivot ? 1 : 0;
    for (std::size_t c = 0; c < asked.keys[j].size(); ++c) {
      entry -= asked.keys[j][c] * inverse[c][pivot];
    }
    entry -= inverse[asked.keys[j].size()][pivot];
    remainder.push_back(Rational(entry / relation[pivot]));
  }
  ordered_json json = new_certificate("reachable_between_weights");
  json["values"] = exact_json(asked.values);
  json["keys"] = exact_json(asked.keys);
  json["point"] = exact_json(asked.point);
  json["lower_weights"] = exact_json(is_lower ? found : other);
  json["upper_weights"] = exact_json(is_lower ? other : found);
  json["relation"] = exact_json(relation);
  json["inverse"] = exact_json(inverse);
  json["remainder"] = exact_json(remainder);
  return json;
}

// M with [keys 1] M = values; nullopt if there is none.
std::optional<RationalMatrix> affine_in(const RowReduction& of_keys, const RationalMatrix& values,
                                        const RationalMatrix& keys) {
  const RationalMatrix inverse = generalised_inverse(of_keys, keys[0].size() + 1);
  RationalMatrix affine(inverse.size(), RationalVector(values[0].size()));
  for (std::size_t r = 0; r < affine.size(); ++r) {
    for (std::size_t j = 0; j < values.size(); ++j) {
      for (std::size_t c = 0; c < affine[r].size(); ++c)
        affine[r][c] += inverse[r][j] * values[j][c];
    }
  }
  const RationalMatrix extended = with_ones(keys);
  for (std::size_t j = 0; j < values.size(); ++j) {
    for (std::size_t c = 0; c < values[j].size(); ++c) {
      Rational sum = 0;
      for (std::size_t r = 0; r < affine.size(); ++r) sum += extended[j][r] * affine[r][c];
      if (sum != values[j][c]) return std::nullopt;
    }
  }
  return affine;
}

ordered_json moment_certificate(const Question& asked, const RationalVector& weights,
                                const RationalMatrix& affine) {
  ordered_json json = new_certificate("reachable_by_moments");
  json["values"] = exact_json(asked.values);
  json["keys"] = exact_json(asked.keys);
  json["point"] = exact_json(asked.point);
  json["weights"] = exact_json(weights);
  json["affine"] = exact_json(affine);
  return json;
}

// The difference of two keys that are not alike, or a unit vector: along a line of keys it decides.
RationalVector direction_of(const RationalMatrix& keys) {
  RationalVector direction(keys[0].size());
  for (const RationalVector& key : keys) {
    for (std::size_t c = 0; c < key.size(); ++c) direction[c] = key[c] - keys[0][c];
    if (!is_zero(direction)) return direction;
  }
  direction[0] = 1;
  return direction;
}

KeyReachability along_directions(const Question& asked) {
  const KeyReachability first =
      reachability_along(asked.values, asked.keys, asked.point, direction_of(asked.keys));
  const std::size_t size = asked.keys[0].size();
  if (first.reach != Reach::undecided || size == 1) return first;
  constexpr int steps = 3;
  // The first two coordinates' directions are tried closely, the others as unit vectors.
  for (int x = 0; x <= steps; ++x) {
    for (int y = -steps; y <= steps; ++y) {
      RationalVector direction(size);
      direction[0] = x;
      direction[1] = y;
      KeyReachability found = reachability_along(asked.values, asked.keys, asked.point, direction);
      if (found.reach == Reach::reachable) return found;
    }
  }
  for (std::size_t c = 2; c < size; ++c) {
    RationalVector direction(size);
    direction[c] = 1;
    KeyReachability found = reachability_along(asked.values, asked.keys, asked.point, direction);
    if (found.reach == Reach::reachable) return found;
  }
  return first;
}

}  // namespace

KeyReachability key_reachability(const RationalMatrix& values, const RationalMatrix& keys,
                                 const RationalVector& point) {
  const Attainability found = attainability(values, point);
  require_rows(keys, values.size(), "keys");
  if (!found.attainable) {
    return {Reach::unreachable, certificate_of(found, values, point),
            "no positive weights reach the point, whatever the keys"};
  }
  const std::size_t key_columns = keys[0].size() + 1;
  const RowReduction of_keys = row_reduction(with_ones(keys), key_columns);
  const RationalMatrix relations = left_null_vectors(of_keys);
  bool too_large = false;
  const std::optional<RationalVector> broken = broken_relation(relations, found.weights, too_large);
  if (!broken && !too_large) {
    return {Reach::reachable,
            key_certificate("reachable_with_keys", values, keys, point, found.weights,
                            generalised_inverse(of_keys, key_columns)),
            of_keys.rank() == keys.size() ? "these keys allow every positive weighting"
                                          : "the logarithms of these weights fit the keys"};
  }
  const std::size_t value_columns = point.size() + 1;
  const RowReduction of_values = row_reduction(with_ones(values), value_columns);
  if (broken && of_values.rank() == values.size()) {
    ordered_json json = key_certificate("unreachable_with_keys", values, keys, point, found.weights,
                                        generalised_inverse(of_values, value_columns));
    json["relation"] = exact_json(*broken);
    return {Reach::unreachable, std::move(json),
            "the only weights that reach the point break an equation that every query obeys"};
  }
  if (relations.size() == 1 && !too_large) {
    const auto other = weights_beyond(left_null_vectors(of_values), found.weights, relations[0]);
    if (other) {
      return {Reach::reachable,
              between_certificate({values, keys, point}, found.weights, *other, relations[0],
                                  generalised_inverse(of_keys, key_columns)),
              "between two weightings that reach the point lies one that fits the keys"};
    }
  }
  if (const auto affine = affine_in(of_keys, values, keys)) {
    return {Reach::reachable, moment_certificate({values, keys, point}, found.weights, *affine),
            "the values are affine in the keys: the mean under softmax takes every point inside"};
  }
  return along_directions({values, keys, point});
}

}  // namespace gqa
