// Polynomials with rational coefficients, read from text and expanded.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "gqa/theory/certificate_fields.hpp"

namespace gqa::certificate_rules {

/// Exponents by variable, all positive.
using Monomial = std::map<std::string, int>;

/// Coefficients by monomial, none of them zero: two polynomials are equal as functions on the
/// rationals exactly if these are equal.
using Polynomial = std::map<Monomial, Rational>;

/// Reads sums, differences and products of variables (a letter, then letters, digits or _),
/// integers and parentheses: "lambda*a*(a + r) - 2*r".
///
/// Errors: CertificateRejected for anything else, for more than 2000 characters, more than 50
/// parentheses within each other, or more than 10000 monomials.
Polynomial parse_polynomial(std::string_view text);

}  // namespace gqa::certificate_rules
