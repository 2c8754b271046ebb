#include "gqa/theory/attainable.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "gqa/error.hpp"
#include "gqa/theory/certificate_writer.hpp"
#include "gqa/theory/simplex.hpp"

namespace gqa {
namespace {

using nlohmann::ordered_json;

void require_rows(const RationalMatrix& rows, std::size_t count, std::size_t width,
                  const char* where) {
  bool fits = !rows.empty() && width > 0 && rows.size() == count;
  for (const RationalVector& row : rows) fits = fits && row.size() == width;
  if (!fits) {
    throw InputError("attain.shape", where,
                     fmt::format("is no list of {} rows of one length, at least 1", count));
  }
}

void require_shapes(const RationalMatrix& values, const RationalVector& point) {
  require_rows(values, values.size(), values.empty() ? 0 : values[0].size(), "values");
  if (point.size() != values[0].size()) {
    throw InputError(
        "attain.shape", "point",
        fmt::format("has {} coordinates, the values have {}", point.size(), values[0].size()));
  }
}

Rational dot(const RationalVector& a, const RationalVector& b) {
  Rational sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

constexpr unsigned long largest_exponent = 1'000'000;  // that a checker need evaluate

// product(bases ^ exponents), or nullopt if an exponent is too large to evaluate.
std::optional<Rational> product_of_powers(const RationalVector& bases,
                                          const RationalVector& exponents) {
  mpz_class numerator = 1, denominator = 1, power;
  for (std::size_t j = 0; j < bases.size(); ++j) {
    const mpz_class exponent = exponents[j].get_num();
    if (abs(exponent) > largest_exponent) return std::nullopt;
    const unsigned long size = mpz_class(abs(exponent)).get_ui();
    const bool up = exponent > 0;
    mpz_pow_ui(power.get_mpz_t(), bases[j].get_num_mpz_t(), size);
    (up ? numerator : denominator) *= power;
    mpz_pow_ui(power.get_mpz_t(), bases[j].get_den_mpz_t(), size);
    (up ? denominator : numerator) *= power;
  }
  return make_rational(numerator, denominator);
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

}  // namespace

Attainability attainability(const RationalMatrix& values, const RationalVector& point) {
  require_shapes(values, point);
  // Weights u_j + t with u, t >= 0: sum u_j values[j] + t sum values[j] = point, sum u_j + N t = 1;
  // the largest t is the largest smallest weight.
  const std::size_t count = values.size();
  RationalMatrix rows(point.size() + 1, RationalVector(count + 1));
  for (std::size_t j = 0; j < count; ++j) {
    for (std::size_t c = 0; c < point.size(); ++c) {
      rows[c][j] = values[j][c];
      rows[c][count] += values[j][c];
    }
    rows[point.size()][j] = 1;
    rows[point.size()][count] += 1;
  }
  RationalVector right = point;
  right.push_back(1);
  RationalVector objective(count + 1);
  objective[count] = 1;
  const SimplexResult best = maximise(rows, right, objective);

  Attainability found;
  found.attainable = best.feasible && best.value > 0;
  if (found.attainable) {
    found.weights.assign(best.solution.begin(), best.solution.end() - 1);
    for (Rational& weight : found.weights) weight += best.value;
    return found;
  }
  // Infeasible: the multipliers have the values on the negative side. Otherwise t = 0 is the
  // optimum, and they have the point at zero and the values' sides summing to at least 1.
  found.normal.assign(best.multipliers.begin(), best.multipliers.end() - 1);
  found.offset = best.multipliers.back();
  if (!best.feasible) {
    for (Rational& x : found.normal) x = -x;
    found.offset = -found.offset;
  }
  return found;
}

ordered_json certificate_of(const Attainability& found, const RationalMatrix& values,
                            const RationalVector& point) {
  ordered_json json =
      new_certificate(found.attainable ? "attainable_point" : "separating_hyperplane");
  json["values"] = exact_json(values);
  json["point"] = exact_json(point);
  if (found.attainable) {
    json["weights"] = exact_json(found.weights);
    return json;
  }
  json["normal"] = exact_json(found.normal);
  json["offset"] = exact_json(found.offset);
  RationalVector sides;
  for (const RationalVector& value : values) {
    sides.push_back(dot(found.normal, value) + found.offset);
  }
  json["value_sides"] = exact_json(sides);
  json["point_side"] = exact_json(Rational(dot(found.normal, point) + found.offset));
  return json;
}

KeyReachability key_reachability(const RationalMatrix& values, const RationalMatrix& keys,
                                 const RationalVector& point) {
  require_shapes(values, point);
  require_rows(keys, values.size(), keys.empty() ? 0 : keys[0].size(), "keys");
  const Attainability found = attainability(values, point);
  if (!found.attainable) {
    return {Reach::unreachable, certificate_of(found, values, point),
            "no positive weights reach the point, whatever the keys"};
  }
  const std::size_t key_columns = keys[0].size() + 1;
  const RowReduction of_keys = row_reduction(with_ones(keys), key_columns);
  bool too_large = false;
  const std::optional<RationalVector> broken =
      broken_relation(left_null_vectors(of_keys), found.weights, too_large);
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
  return {Reach::undecided, nullptr,
          too_large ? "an equation between the weights has exponents beyond a million"
                    : "many weightings reach the point; the one found does not fit the keys"};
}

}  // namespace gqa
