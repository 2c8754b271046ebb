#include "gqa/theory/certificate_rules/arithmetic.hpp"
#include "gqa/theory/certificate_rules/rules.hpp"

namespace gqa::certificate_rules {
namespace {

void require_weights_reach(const RationalVector& weights, const RationalMatrix& values,
                           const RationalVector& point) {
  require(all_positive(weights), "a weight is not positive");
  require(total(weights) == 1, "the weights do not sum to 1");
  require(combination(weights, values) == point, "the weights do not reach the point");
}

// [rows 1]: a last coordinate of one.
RationalMatrix with_ones(RationalMatrix rows) {
  for (RationalVector& row : rows) row.push_back(1);
  return rows;
}

// Multiplied by the common denominator: integers of the same ratios.
RationalVector cleared(RationalVector values) {
  mpz_class denominator = 1;
  for (const Rational& value : values) denominator = lcm(denominator, value.get_den());
  for (Rational& value : values) value *= denominator;
  return values;
}

}  // namespace

std::string attainable_point(CertificateFields& fields) {
  const RationalMatrix values = fields.matrix("values");
  const RationalVector point = fields.vector("point");
  require_weights_reach(fields.vector("weights"), values, point);
  return fmt::format("{} is attainable from these {} values", to_text(point), values.size());
}

std::string separating_hyperplane(CertificateFields& fields) {
  const RationalMatrix values = fields.matrix("values");
  const RationalVector point = fields.vector("point");
  const RationalVector normal = fields.vector("normal");
  const Rational offset = fields.number("offset");
  const RationalVector value_sides = fields.vector("value_sides");
  const Rational point_side = fields.number("point_side");
  require(value_sides.size() == values.size(), "there are not as many sides as values");
  for (std::size_t j = 0; j < values.size(); ++j) {
    require(dot(normal, values[j]) + offset == value_sides[j], "a value's side is not as stated");
    require(value_sides[j] >= 0, "a value is on the negative side");
  }
  require(dot(normal, point) + offset == point_side, "the point's side is not as stated");
  require(point_side <= 0, "the point is on the positive side");
  require(point_side < 0 || !is_zero(value_sides), "all are on the hyperplane");
  return fmt::format("{} is not attainable from these {} values", to_text(point), values.size());
}

std::string reachable_with_keys(CertificateFields& fields) {
  const RationalMatrix values = fields.matrix("values");
  const RationalMatrix keys = fields.matrix("keys");
  const RationalVector point = fields.vector("point");
  const RationalVector weights = fields.vector("weights");
  require(keys.size() == values.size(), "there are not as many keys as values");
  require_weights_reach(weights, values, point);
  RationalMatrix residual = product(with_ones(keys), fields.matrix("inverse"));
  PowerRoom room;
  for (std::size_t j = 0; j < residual.size(); ++j) {
    require(residual[j].size() == weights.size(), "the inverse has a wrong number of columns");
    residual[j][j] -= 1;
    require(product_of_powers(weights, cleared(residual[j]), room) == 1,
            "the query does not give a weight");
  }
  return fmt::format("{} is reached by a query with these {} keys", to_text(point), keys.size());
}

std::string reachable_between_weights(CertificateFields& fields) {
  const RationalMatrix values = fields.matrix("values");
  const RationalMatrix keys = fields.matrix("keys");
  const RationalVector point = fields.vector("point");
  const RationalVector lower = fields.vector("lower_weights");
  const RationalVector upper = fields.vector("upper_weights");
  const RationalVector relation = fields.vector("relation");
  const RationalVector remainder = fields.vector("remainder");
  require(keys.size() == values.size(), "there are not as many keys as values");
  require_weights_reach(lower, values, point);
  require_weights_reach(upper, values, point);
  PowerRoom room;
  require(product_of_powers(lower, relation, room) <= 1,
          "the lower weights are above the relation");
  require(product_of_powers(upper, relation, room) >= 1,
          "the upper weights are below the relation");
  const RationalMatrix projection = product(with_ones(keys), fields.matrix("inverse"));
  require(remainder.size() == keys.size(), "the remainder has a wrong length");
  for (std::size_t j = 0; j < projection.size(); ++j) {
    require(projection[j].size() == relation.size(), "the inverse has a wrong number of columns");
    for (std::size_t k = 0; k < relation.size(); ++k) {
      const Rational expected = (j == k ? 1 : 0) - Rational(remainder[j] * relation[k]);
      require(projection[j][k] == expected, "the query does not give the weights between");
    }
  }
  return fmt::format("{} is reached by a query with these {} keys", to_text(point), keys.size());
}

std::string unreachable_with_keys(CertificateFields& fields) {
  const RationalMatrix values = fields.matrix("values");
  const RationalMatrix keys = fields.matrix("keys");
  const RationalVector point = fields.vector("point");
  const RationalVector weights = fields.vector("weights");
  require_weights_reach(weights, values, point);
  const RationalMatrix identity = product(with_ones(values), fields.matrix("inverse"));
  for (std::size_t r = 0; r < identity.size(); ++r) {
    require(identity[r].size() == values.size(), "the inverse has a wrong number of columns");
    for (std::size_t c = 0; c < identity.size(); ++c) {
      require(identity[r][c] == (r == c ? 1 : 0), "the inverse is none: other weights may exist");
    }
  }
  const RationalVector relation = fields.vector("relation");
  require(is_zero(combination(relation, with_ones(keys))),
          "the relation does not hold for every query");
  PowerRoom room;
  require(product_of_powers(weights, relation, room) != 1, "the weights obey the relation");
  return fmt::format("{} is reached by no query with these {} keys", to_text(point), keys.size());
}

std::string equal_outputs(CertificateFields& fields) {
  const RationalMatrix values = fields.matrix("values");
  const RationalMatrix strengths = fields.matrix("strengths");
  const RationalVector output = fields.vector("output");
  require(strengths.size() >= 2, "there is only one row of strengths");
  RationalMatrix weights;
  for (RationalVector row : strengths) {
    require(all_positive(row), "a strength is not positive");
    const Rational sum = total(row);
    for (Rational& strength : row) strength /= sum;
    require(combination(row, values) == output, "a row does not give the output");
    for (const RationalVector& other : weights) require(row != other, "two rows weigh alike");
    weights.push_back(row);
  }
  return fmt::format("{} different weightings of these {} values give {}", strengths.size(),
                     values.size(), to_text(output));
}

}  // namespace gqa::certificate_rules
