#include "gqa/audit/work/audit_job.hpp"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "gqa/error.hpp"

namespace gqa {
namespace {

std::string tolerance_text(const Tolerance& tolerance) {
  const auto* model = std::get_if<ModelTolerance>(&tolerance);
  return describe(tolerance) +
         (model != nullptr && model->accept_worst_case ? ", worst case accepted" : "");
}

}  // namespace

BlockJob start_job(const std::string& output, AuditTally empty, const AuditOptions& options) {
  if (options.sample && options.sample->rows < 1) {
    throw InputError("audit.sample", "sample", "must have a row");
  }
  std::vector<IdentityField> identity = options.identity;
  identity.push_back({"audited", output});
  identity.push_back({"tolerance", tolerance_text(options.tolerance)});
  identity.push_back({"filter", options.use_filter ? "yes" : "no"});
  identity.push_back({"precision", fmt::format("{} to {} bits", options.first_precision,
                                               options.largest_precision)});
  identity.push_back(
      {"sample", options.sample
                     ? fmt::format("{} rows, seed {}", options.sample->rows, options.sample->seed)
                     : "none"});
  // What is not asked for is not named: journals from before stay good.
  if (options.map_errors) {
    identity.push_back({"error map", "kept"});
    empty.keep_error_map();
  }
  return {output, std::move(identity), 0, std::move(empty), {}, {}};
}

AuditTally run_job(const BlockJob& job, const AuditOptions& options) {
  return options.runner != nullptr ? options.runner->run(job) : run_here(job);
}

}  // namespace gqa
