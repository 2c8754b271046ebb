// Everything about one audited case.
#pragma once

#include <string>

#include "gqa/report/audit_report.hpp"
#include "gqa/report/html/markup.hpp"

namespace gqa::html {

/// `id`: prefix of identifiers, of its own for every case. `with_parts`: a long heat map is shown
/// part by part as well, which takes most of the space.
Markup audit_case_section(const std::string& id, const AuditCase& entry, bool with_parts = true);

}  // namespace gqa::html
