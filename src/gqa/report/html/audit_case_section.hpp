// Everything about one audited case.
#pragma once

#include <string>

#include "gqa/report/audit_report.hpp"
#include "gqa/report/html/markup.hpp"

namespace gqa::html {

/// `id`: prefix of identifiers, of its own for every case.
Markup audit_case_section(const std::string& id, const AuditCase& entry);

}  // namespace gqa::html
