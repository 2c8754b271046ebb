#include "cluster.hpp"

#include <fmt/format.h>

#include "gqa/error.hpp"
#include "launcher.hpp"
#ifdef GQAVERIFY_WITH_MPI
#include "mpi_cluster.hpp"
#endif

namespace gqa::program {

AuditTally Cluster::run(const BlockJob& job, Journal* journal) {
  if (journal == nullptr) return run_here(job);
  return JournalRunner(*journal).run(job);
}

std::unique_ptr<Cluster> join_cluster() {
  const Launch launch = find_launch();
#ifdef GQAVERIFY_WITH_MPI
  if (launch.by_mpi) {
    auto cluster = std::make_unique<MpiCluster>();
    if (launch.processes > 1 && cluster->size() == 1) {
      throw InputError("cluster.launcher", "MPI",
                       fmt::format("the launcher started {} processes that do not find each "
                                   "other; with Slurm, try srun --mpi=pmix or mpirun",
                                   launch.processes));
    }
    return cluster;
  }
#else
  if (launch.processes > 1) {
    throw InputError("cluster.no_mpi", "MPI",
                     fmt::format("this is one of {} processes, and this gqaverify was built "
                                 "without MPI",
                                 launch.processes));
  }
#endif
  return std::make_unique<Cluster>();
}

}  // namespace gqa::program
