// Certificates: statements with a witness that rational arithmetic alone re-verifies.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace gqa {

inline constexpr const char* certificate_schema = "gqaverify.certificate/1";

/// What the checker found. Only `verified` says that the statement is proved.
struct CertificateVerdict {
  bool verified = false;
  std::string kind;
  std::string statement;  ///< what is proved, made by the checker from the certificate's numbers
  std::string reason;     ///< why it was rejected
};

/// Re-verifies one certificate: a JSON object with "schema", "kind" and the fields of its kind
/// (certificate_rules/), no others. Shares no code with what writes certificates but the rational
/// type and the JSON reader.
///
/// Kinds: attainable_point, separating_hyperplane, reachable_with_keys, reachable_between_weights,
/// unreachable_with_keys, reachable_along_direction, unreachable_along_line, reachable_by_moments,
/// equal_outputs, pooling_loss, pooling_lossless, weight_pooling_loss, weight_pooling_lossless,
/// rank_lower_bound, rank_upper_bound, stacked_output_rank, enclosed_group_rank, counterexample,
/// byte_ledger, polynomial_identity, equational_proof.
///
/// Errors, for text that is no certificate: InputError at "`where`: field" with code
/// "certificate.unknown_schema", "certificate.unknown_kind", "certificate.missing_field",
/// "certificate.unknown_field", "certificate.field_type", "certificate.shape", those of
/// parse_rational and of parse_json_strictly.
CertificateVerdict check_certificate(std::string_view text, const std::string& where);

/// As check_certificate, and the errors of read_file.
CertificateVerdict check_certificate_file(const std::filesystem::path& path);

}  // namespace gqa
