// The processes that work on one command: this one alone, or the ranks of an MPI launcher.
#pragma once

#include <memory>
#include <string>

#include "exit_status.hpp"
#include "gqa/audit/work/block_job.hpp"
#include "gqa/audit/work/journal.hpp"

namespace gqa::program {

/// How a process came to its end.
struct Ending {
  ExitStatus status = internal_error;
  std::string message;  ///< for standard error; empty: nothing to tell
};

/// Every rank runs the same program on the same input and takes the same steps in the same
/// order; only the first prints and writes files. A rank that comes to another step, such
/// as the end because of an error, is noticed by all of them at the next step, so that none
/// waits for one that will not come.
///
/// Errors of agree() and run(), on all ranks alike: InputError "cluster.ranks_differ".
class Cluster {
 public:
  Cluster() = default;
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;
  virtual ~Cluster() = default;

  virtual bool is_first() const { return true; }
  virtual int size() const { return 1; }
  /// All ranks are at this step. `label` is for people, `details` must be equal as well.
  virtual void agree(const std::string& label, const std::string& details) {
    (void)label;
    (void)details;
  }
  /// The job's blocks, shared out; finished ones go to the journal of the first rank, which
  /// may be null and is null on the others. The same tally on every rank.
  virtual AuditTally run(const BlockJob& job, Journal* journal);
  /// The same ending for all: that of the lowest rank that has a message, or of the first.
  virtual Ending settle(const Ending& mine) { return mine; }
};

/// Joins the launcher's other processes, if this process was started by one.
/// Errors: InputError "cluster.no_mpi" (one of several processes, and this build cannot find
/// the others); "cluster.launcher" (MPI started, but found nobody else).
std::unique_ptr<Cluster> join_cluster();

/// Hands jobs to a cluster.
class ClusterRunner : public BlockRunner {
 public:
  /// Both must outlive the runner; `journal` may be null.
  ClusterRunner(Cluster& cluster, Journal* journal) : cluster_(cluster), journal_(journal) {}
  AuditTally run(const BlockJob& job) override { return cluster_.run(job, journal_); }

 private:
  Cluster& cluster_;
  Journal* journal_;
};

}  // namespace gqa::program
