// Whether an output fails, for as little work as that takes.
#pragma once

#include "gqa/audit/work/block_job.hpp"

namespace gqa {

/// Works on more and more blocks at a time until one holds a violation; the rest is left out, so
/// that the tally of a failure is no whole audit's.
class StoppingRunner : public BlockRunner {
 public:
  AuditTally run(const BlockJob& job) override;
};

}  // namespace gqa
