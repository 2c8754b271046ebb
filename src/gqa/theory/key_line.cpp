// Reachability by the multiples of one query: polynomials in one positive number.
#include <fmt/format.h>

#include <algorithm>

#include "gqa/theory/attainable.hpp"
#include "gqa/theory/certificate_writer.hpp"
#include "gqa/theory/positive_roots.hpp"

namespace gqa {
namespace {

using nlohmann::ordered_json;

// The keys' places along the direction as integers from 0, in the largest common unit; nullopt
// beyond the degree that is decided.
std::optional<std::vector<long>> exponents_of(const RationalVector& places) {
  const Rational least = *std::ranges::min_element(places);
  mpz_class denominator = 1, divisor = 0;
  for (const Rational& place : places) denominator = lcm(denominator, place.get_den());
  std::vector<mpz_class> steps;
  for (const Rational& place : places) {
    steps.emplace_back(Rational((place - least) * denominator).get_num());
    divisor = gcd(divisor, steps.back());
  }
  std::vector<long> exponents;
  for (const mpz_class& step : steps) {
    const mpz_class exponent = divisor == 0 ? mpz_class(0) : mpz_class(step / divisor);
    if (exponent > highest_key_degree) return std::nullopt;
    exponents.push_back(exponent.get_si());
  }
  return exponents;
}

// Every key differs from the first by a multiple of what another does.
bool are_on_one_line(const RationalMatrix& keys) {
  RationalMatrix steps;
  for (std::size_t j = 1; j < keys.size(); ++j) {
    steps.push_back(keys[j]);
    for (std::size_t c = 0; c < keys[j].size(); ++c) steps.back()[c] -= keys[0][c];
  }
  return steps.empty() || row_reduction(steps, keys[0].size()).rank() <= 1;
}

// Of one length, as rows of a matrix.
ordered_json padded_json(std::vector<RationalPolynomial> polynomials) {
  std::size_t longest = 1;
  for (const RationalPolynomial& p : polynomials) longest = std::max(longest, p.size());
  for (RationalPolynomial& p : polynomials) p.resize(longest);
  return exact_json(polynomials);
}

}  // namespace

KeyReachability reachability_along(const RationalMatrix& values, const RationalMatrix& keys,
                                   const RationalVector& point, const RationalVector& direction) {
  RationalVector places;
  for (const RationalVector& key : keys) places.push_back(dot(key, direction));
  const auto exponents = exponents_of(places);
  if (!exponents) {
    return {Reach::undecided, nullptr,
            fmt::format("the keys make polynomials of a degree beyond {}", highest_key_degree)};
  }
  const auto degree = static_cast<std::size_t>(*std::ranges::max_element(*exponents));
  std::vector<RationalPolynomial> equations(point.size(), RationalPolynomial(degree + 1));
  bool all_zero = true;
  for (std::size_t c = 0; c < point.size(); ++c) {
    for (std::size_t j = 0; j < values.size(); ++j) {
      equations[c][static_cast<std::size_t>((*exponents)[j])] += values[j][c] - point[c];
    }
    all_zero = all_zero && is_zero(equations[c]);
  }
  CommonDivisor common;
  if (all_zero) {
    common.divisor = {-1, 1};  // any strengths do; the root of y - 1 is one of them
    common.quotients.assign(point.size(), {0});
  } else {
    common = common_divisor(equations);
  }
  PositiveRoots roots = positive_roots(common.divisor);
  ordered_json json =
      new_certificate(roots.any ? "reachable_along_direction" : "unreachable_along_line");
  json["values"] = exact_json(values);
  json["keys"] = exact_json(keys);
  json["point"] = exact_json(point);
  json["direction"] = exact_json(direction);
  if (roots.any) {
    // The square-free part divides the divisor, so every equation.
    std::vector<RationalPolynomial> quotients = common.quotients;
    const CommonDivisor by_simple = common_divisor({common.divisor, roots.simple});
    for (RationalPolynomial& quotient : quotients) {
      quotient = polynomial_product(quotient, by_simple.quotients[0]);
    }
    const Rational leading = roots.simple.back();
    for (Rational& x : roots.simple) x /= leading;
    json["divisor"] = exact_json(roots.simple);
    json["quotients"] = padded_json(std::move(quotients));
    json["lower"] = exact_json(roots.lower);
    json["upper"] = exact_json(roots.upper);
    return {Reach::reachable, std::move(json),
            "the strengths are powers of one positive number, and some number gives the point"};
  }
  if (!are_on_one_line(keys)) {
    return {Reach::undecided, nullptr,
            "many weightings reach the point; none that was found fits the keys"};
  }
  json["cofactors"] = padded_json(common.cofactors);
  json["breaks"] = exact_json(roots.breaks);
  return {Reach::unreachable, std::move(json),
          "the strengths are powers of one positive number, and no number gives the point"};
}

}  // namespace gqa
