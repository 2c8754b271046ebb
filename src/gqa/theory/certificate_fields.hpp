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

/// The work that one check may take, in steps of about a small rational product and sum: some ten
/// seconds. A small file can ask for more, by powers, products and polynomials.
class CheckWork {
 public:
  static void restart() { left() = most; }
  /// Rejects beyond the most.
  static void spend(std::uint64_t steps) {
    if (steps > left()) {
      throw CertificateRejected("the check would take more work than it may");
    }
    left() -= steps;
  }
  /// A product or sum with this result: a greatest common divisor of numbers of some limbs takes as
  /// long as so many small ones (measured), of thousands of limbs more.
  static void spend_on(const Rational& result) {
    const std::size_t limbs = mpz_size(result.get_num_mpz_t()) + mpz_size(result.get_den_mpz_t());
    spend(1 + limbs + limbs * limbs / 400);
  }

 private:
  static constexpr std::uint64_t most = 20'000'000;
  static std::uint64_t& left() {
    static thread_local std::uint64_t steps = most;
    return steps;
  }
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
  std::vector<std::string> texts(const std::string& field);
  bool flag(const std::string& field);
  Rational number(const std::string& field);
  std::int64_t integer(const std::string& field);
  std::vector<std::int64_t> integers(const std::string& field);
  RationalVector vector(const std::string& field);
  RationalMatrix matrix(const std::string& field);
  RationalMatrices matrices(const std::string& field);  ///< of one shape
  /// A list of objects.
  std::vector<CertificateFields> objects(const std::string& field);
  /// An object of fields of its own.
  CertificateFields object(const std::string& field);
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
