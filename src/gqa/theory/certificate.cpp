#include "gqa/theory/certificate.hpp"

#include <fmt/format.h>

#include <array>

#include "gqa/error.hpp"
#include "gqa/io/file.hpp"
#include "gqa/io/json.hpp"
#include "gqa/theory/certificate_rules/rules.hpp"

namespace gqa {
namespace {

namespace rules = certificate_rules;

struct NamedRule {
  std::string_view kind;
  rules::Rule rule;
};
constexpr std::array named_rules{
    NamedRule{"attainable_point", rules::attainable_point},
    NamedRule{"separating_hyperplane", rules::separating_hyperplane},
    NamedRule{"reachable_with_keys", rules::reachable_with_keys},
    NamedRule{"reachable_between_weights", rules::reachable_between_weights},
    NamedRule{"unreachable_with_keys", rules::unreachable_with_keys},
    NamedRule{"reachable_along_direction", rules::reachable_along_direction},
    NamedRule{"unreachable_along_line", rules::unreachable_along_line},
    NamedRule{"reachable_by_moments", rules::reachable_by_moments},
    NamedRule{"equal_outputs", rules::equal_outputs},
    NamedRule{"pooling_loss", rules::pooling_loss},
    NamedRule{"pooling_lossless", rules::pooling_lossless},
    NamedRule{"weight_pooling_loss", rules::weight_pooling_loss},
    NamedRule{"weight_pooling_lossless", rules::weight_pooling_lossless},
    NamedRule{"rank_lower_bound", rules::rank_lower_bound},
    NamedRule{"rank_upper_bound", rules::rank_upper_bound},
    NamedRule{"stacked_output_rank", rules::stacked_output_rank},
    NamedRule{"enclosed_group_rank", rules::enclosed_group_rank},
    NamedRule{"counterexample", rules::counterexample},
    NamedRule{"byte_ledger", rules::byte_ledger},
    NamedRule{"polynomial_identity", rules::polynomial_identity},
    NamedRule{"equational_proof", rules::equational_proof},
};

rules::Rule rule_of(const std::string& kind, const std::string& where) {
  for (const NamedRule& known : named_rules) {
    if (known.kind == kind) return known.rule;
  }
  throw InputError("certificate.unknown_kind", where + ": kind",
                   fmt::format("\"{}\" is not a kind of certificate", printable(kind)));
}

}  // namespace

CertificateVerdict check_certificate(std::string_view text, const std::string& where) {
  const nlohmann::json document = parse_json_strictly(text, where);
  require_moderate_exponents(document, where);
  CertificateFields fields(document, where);
  if (fields.text("schema") != certificate_schema) {
    throw InputError("certificate.unknown_schema", where + ": schema",
                     fmt::format("is not {}", certificate_schema));
  }
  CertificateVerdict verdict;
  verdict.kind = fields.text("kind");
  const rules::Rule rule = rule_of(verdict.kind, where);
  CheckWork::restart();
  try {
    verdict.statement = rule(fields);
    // Last, so that a verdict is never reached past a field that nobody looked at.
    fields.require_all_read();
    verdict.verified = true;
  } catch (const CertificateRejected& rejection) {
    verdict.statement.clear();
    verdict.reason = rejection.what();
  }
  return verdict;
}

CertificateVerdict check_certificate_file(const std::filesystem::path& path) {
  return check_certificate(read_text_file(path), path.string());
}

}  // namespace gqa
