// Bounds of the rank of a matrix by a minor and by factors.
#pragma once

#include "gqa/theory/certificate_fields.hpp"

namespace gqa::certificate_rules {

/// Reads modulus, rows, columns, determinant; returns the size of the minor, which is not zero.
std::size_t rank_at_least(CertificateFields& fields, const RationalMatrix& matrix);

/// Reads left [n, r], right [r, m] whose product is the matrix; returns r.
std::size_t rank_at_most(CertificateFields& fields, const RationalMatrix& matrix);

}  // namespace gqa::certificate_rules
