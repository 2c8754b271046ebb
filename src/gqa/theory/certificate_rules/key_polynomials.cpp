// Reachability by queries along one line: polynomials in one positive number.
#include <algorithm>

#include "gqa/theory/certificate_rules/arithmetic.hpp"
#include "gqa/theory/certificate_rules/rules.hpp"

namespace gqa::certificate_rules {
namespace {

constexpr long highest_degree = 1024;

using Coefficients = RationalVector;  // ascending

Coefficients without_leading_zeros(Coefficients p) {
  while (!p.empty() && p.back() == 0) p.pop_back();
  return p;
}

Coefficients product_of(const Coefficients& a, const Coefficients& b) {
  if (a.empty() || b.empty()) return {};
  Coefficients result(a.size() + b.size() - 1);
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      result[i + j] += a[i] * b[j];
      CheckWork::spend_on(result[i + j]);
    }
  }
  return result;
}

Coefficients sum_of(Coefficients a, const Coefficients& b) {
  if (a.size() < b.size()) a.resize(b.size());
  for (std::size_t i = 0; i < b.size(); ++i) a[i] += b[i];
  return a;
}

Rational value_at(const Coefficients& p, const Rational& y) {
  Rational value = 0;
  for (std::size_t i = p.size(); i > 0; --i) {
    value = value * y + p[i - 1];
    CheckWork::spend_on(value);
  }
  return value;
}

// p(x + shift).
Coefficients shifted(Coefficients p, const Rational& shift) {
  for (std::size_t i = 0; i + 1 < p.size(); ++i) {
    for (std::size_t j = p.size() - 1; j > i; --j) {
      p[j - 1] += shift * p[j];
      CheckWork::spend_on(p[j - 1]);
    }
  }
  return p;
}

bool has_one_sign(const Coefficients& p) {
  const bool positive = std::any_of(p.begin(), p.end(), [](const Rational& x) { return x > 0; });
  const bool negative = std::any_of(p.begin(), p.end(), [](const Rational& x) { return x < 0; });
  return positive != negative;
}

// No root in the open interval: (1 + z)^n p((lower + upper z) / (1 + z)), z > 0, has coefficients
// of one sign; of an interval without upper end p(lower + z).
void require_no_root(const Coefficients& p, const Rational& lower, const Rational* upper) {
  Coefficients q = shifted(p, lower);
  if (upper != nullptr) {
    Rational power = 1;
    for (Rational& x : q) {
      x *= power;
      power *= *upper - lower;
      CheckWork::spend_on(power);
    }
    // p(lower + (upper - lower) z / (1 + z)): the reversed polynomial shifted by one.
    std::reverse(q.begin(), q.end());
    q = shifted(std::move(q), 1);
  }
  require(has_one_sign(q), "the polynomial is not shown to have no root in an interval");
}

struct Line {
  std::vector<long> exponents;  // of y, one for each key, the least is 0
  RationalVector places;        // of the keys along the direction
};

// Scores along the direction are tau t_j: exp(tau (t_j - least) / unit) are powers of one y > 0.
Line line_of(const RationalMatrix& keys, const RationalVector& direction) {
  Line line{{}, product(keys, direction)};
  Rational least = line.places[0];
  mpz_class denominator = 1, divisor = 0;
  for (const Rational& t : line.places) {
    least = std::min(least, t);
    denominator = lcm(denominator, t.get_den());
  }
  for (const Rational& t : line.places) {
    const Rational steps((t - least) * denominator);
    divisor = gcd(divisor, steps.get_num());
  }
  for (const Rational& t : line.places) {
    const Rational steps((t - least) * denominator);
    const mpz_class exponent = divisor == 0 ? mpz_class(0) : mpz_class(steps.get_num() / divisor);
    require(exponent <= highest_degree, "the keys make a polynomial of too high a degree");
    line.exponents.push_back(exponent.get_si());
  }
  return line;
}

// sum y^(exponent) (v_jc - p_c), by coordinate c.
std::vector<Coefficients> equations(const RationalMatrix& values, const RationalVector& point,
                                    const Line& line) {
  require(values.size() == line.exponents.size(), "there are not as many keys as values");
  require(values[0].size() == point.size(), "the point does not fit the values");
  const auto degree =
      static_cast<std::size_t>(*std::max_element(line.exponents.begin(), line.exponents.end()));
  std::vector<Coefficients> all(point.size(), Coefficients(degree + 1));
  for (std::size_t j = 0; j < values.size(); ++j) {
    for (std::size_t c = 0; c < point.size(); ++c) {
      all[c][static_cast<std::size_t>(line.exponents[j])] += values[j][c] - point[c];
    }
  }
  for (Coefficients& p : all) p = without_leading_zeros(std::move(p));
  return all;
}

// All queries are as those along the direction: the keys lie on one line, which it is not across.
void require_on_one_line(const RationalMatrix& keys, const RationalVector& places) {
  std::size_t other = 0;
  while (other < keys.size() && places[other] == places[0]) ++other;
  for (std::size_t j = 0; j < keys.size(); ++j) {
    for (std::size_t c = 0; c < keys[j].size(); ++c) {
      const Rational step =
          other == keys.size()
              ? Rational(0)
              : Rational((keys[other][c] - keys[0][c]) / (places[other] - places[0]));
      require(keys[j][c] - keys[0][c] == step * (places[j] - places[0]),
              "the keys are not on one line");
    }
  }
}

}  // namespace

std::string reachable_along_direction(CertificateFields& fields) {
  const RationalMatrix values = fields.matrix("values");
  const RationalMatrix keys = fields.matrix("keys");
  const RationalVector point = fields.vector("point");
  const Line line = line_of(keys, fields.vector("direction"));
  const auto all = equations(values, point, line);
  const Coefficients divisor = without_leading_zeros(fields.vector("divisor"));
  const RationalMatrix quotients = fields.matrix("quotients");
  require(quotients.size() == all.size(), "there are not as many quotients as coordinates");
  for (std::size_t c = 0; c < all.size(); ++c) {
    require(without_leading_zeros(product_of(divisor, quotients[c])) == all[c],
            "the divisor does not divide an equation");
  }
  const Rational lower = fields.number("lower"), upper = fields.number("upper");
  require(lower > 0 && lower <= upper, "the interval is none of positive numbers");
  require(value_at(divisor, lower) * value_at(divisor, upper) <= 0,
          "the divisor has the same sign at both ends");
  return fmt::format("{} is reached by a query with these {} keys", to_text(point), keys.size());
}

std::string unreachable_along_line(CertificateFields& fields) {
  const RationalMatrix values = fields.matrix("values");
  const RationalMatrix keys = fields.matrix("keys");
  const RationalVector point = fields.vector("point");
  const Line line = line_of(keys, fields.vector("direction"));
  require_on_one_line(keys, line.places);
  const auto all = equations(values, point, line);
  const RationalMatrix cofactors = fields.matrix("cofactors");
  require(cofactors.size() == all.size(), "there are not as many cofactors as coordinates");
  Coefficients combined;
  for (std::size_t c = 0; c < all.size(); ++c) {
    combined = sum_of(std::move(combined), product_of(cofactors[c], all[c]));
  }
  combined = without_leading_zeros(std::move(combined));
  require(!combined.empty(), "the combination of the equations is zero");
  const RationalVector breaks = fields.vector("breaks");
  Rational lower = 0;
  for (const Rational& next : breaks) {
    require(next > lower, "the breaks do not ascend from above 0");
    require(value_at(combined, next) != 0, "the combination of the equations has a root");
    require_no_root(combined, lower, &next);
    lower = next;
  }
  require_no_root(combined, lower, nullptr);
  return fmt::format("{} is reached by no query with these {} keys", to_text(point), keys.size());
}

std::string reachable_by_moments(CertificateFields& fields) {
  const RationalMatrix values = fields.matrix("values");
  const RationalMatrix keys = fields.matrix("keys");
  const RationalVector point = fields.vector("point");
  const RationalVector weights = fields.vector("weights");
  require(all_positive(weights) && total(weights) == 1,
          "the weights are no positive ones of sum 1");
  require(combination(weights, values) == point, "the weights do not reach the point");
  require(keys.size() == values.size(), "there are not as many keys as values");
  RationalMatrix extended = keys;
  for (RationalVector& row : extended) row.push_back(1);
  require(product(extended, fields.matrix("affine")) == values,
          "the values are not affine in the keys");
  return fmt::format("{} is reached by a query with these {} keys", to_text(point), keys.size());
}

}  // namespace gqa::certificate_rules
