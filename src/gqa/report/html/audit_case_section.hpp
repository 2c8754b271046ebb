// Everything about one audited case.
#pragma once

#include <string>

#include "gqa/report/audit_report.hpp"
#include "gqa/report/html/markup.hpp"

namespace gqa::html {

/// How much of a case is shown.
enum class CaseDetail {
  parts,     ///< everything, long heat maps part by part as well, which take most of the space
  pictures,  ///< every picture once
  words,     ///< no picture, and the worst elements of what does not pass alone
};

/// The flags under which a failing output would be right, to be copied. Empty without any.
Markup what_to_try(const AuditCase& entry);

/// In the order of use: what is wrong and where, what to try, the contract, then the figures.
/// `id`: prefix of identifiers, of its own for every case.
Markup audit_case_section(const std::string& id, const AuditCase& entry,
                          CaseDetail detail = CaseDetail::parts);

}  // namespace gqa::html
