// The audit of one output as a job, whichever way its blocks are worked on.
#pragma once

#include <string>

#include "gqa/audit/work/audit_options.hpp"

namespace gqa {

/// A job on the output of that name: what is not the work itself. `empty`: its axes.
/// Errors: InputError "audit.sample" at "sample" if the sample has no row.
BlockJob start_job(const std::string& output, AuditTally empty, const AuditOptions& options);
/// The job's tally, from options.runner if there is one.
AuditTally run_job(const BlockJob& job, const AuditOptions& options);

}  // namespace gqa
