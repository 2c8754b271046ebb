// The fields of a certificate: exact numbers and rectangular lists, each read once.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gqa/num/rational.hpp"

namespace gqa {

// The checker's own names: it shares no more with the rest of the folder than the number type.
using RationalVector = std::vector<Rational>;
using RationalMatrix = std::vector<RationalVector>;  ///< rows of one length
using RationalMatrices = std::vector<RationalMatrix>;

/// Thrown by a rule: the certificate is well-formed, but does not prove its statement.
struct CertificateRejected : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Rejects unless the condition holds.
inline void require(bool condition, const char* otherwise) {
  if (!condition) throw CertificateRejected(otherwise);
}

/// Reads the fields of one object. A reader of its own, beside JsonReader, on purpose: the checker
/// stands for itself, so that a mistake in what reads other documents is none in it. Exact numbers
/// are JSON strings, counts and indices JSON integers. Every list is non-empty and rectangular.
/// Errors: InputError at "`where`: field": "certificate.missing_field", "certificate.field_type",
/// "certificate.shape", those of parse_rational.
class CertificateFields {
 public:
  CertificateFields(const nlohmann::json& object, std::string where);

  std::string text(const std::string& field);
  bool flag(const std::string& field);
  Rational number(const std::string& field);
  std::int64_t integer(const std::string& field);
  std::vector<std::int64_t> integers(const std::string& field);
  RationalVector vector(const std::string& field);
  RationalMatrix matrix(const std::string& field);
  RationalMatrices matrices(const std::string& field);  ///< of one shape
  /// A list of objects.
  std::vector<CertificateFields> objects(const std::string& field);
  bool is_null(const std::string& field);

  /// Errors: "certificate.unknown_field" for a field that was not read.
  void require_all_read() const;

 private:
  const nlohmann::json& take(const std::string& field);
  std::string place(const std::string& field) const { return where_ + field; }

  const nlohmann::json& object_;
  std::string where_;
  std::set<std::string> read_;
};

}  // namespace gqa
