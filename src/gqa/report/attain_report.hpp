// An attainability question and its answer.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "gqa/theory/attainable.hpp"

namespace gqa {

struct AttainQuestion {
  RationalMatrix values;
  RationalVector point;
  std::optional<RationalMatrix> keys;  ///< nullopt: any finite scores
};

struct AttainReport {
  AttainQuestion question;
  Reach reach = Reach::undecided;
  std::string reason;
  nlohmann::ordered_json certificate;  ///< null if undecided
};

/// Errors: those of key_reachability.
AttainReport attain_report(const AttainQuestion& question);

std::string attain_text(const AttainReport& report);
/// "gqaverify.attain/1", with the certificate.
nlohmann::ordered_json attain_json(const AttainReport& report);

}  // namespace gqa
