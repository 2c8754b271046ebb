// Writing certificates; certificate.hpp reads them, sharing nothing with this.
#pragma once

#include <nlohmann/json.hpp>

#include "gqa/theory/rational_matrix.hpp"

namespace gqa {

/// Exact numbers as a certificate holds them: strings, and lists of them.
nlohmann::ordered_json exact_json(const Rational& value);
nlohmann::ordered_json exact_json(const RationalVector& values);
nlohmann::ordered_json exact_json(const RationalMatrix& rows);
nlohmann::ordered_json exact_json(const RationalMatrices& all);

/// {"schema": ..., "kind": kind}, to which the caller adds the fields of the kind.
nlohmann::ordered_json new_certificate(const char* kind);

}  // namespace gqa
