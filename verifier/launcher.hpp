// Was this process started as one of several, and by what?
#pragma once

namespace gqa::program {

/// What a launcher of parallel programs told this process through its environment.
struct Launch {
  bool by_mpi = false;  ///< an MPI, PMIx or PMI launcher, or a Slurm step of several tasks
  int processes = 1;    ///< as far as the environment tells
};

/// Reads the variables of Open MPI (OMPI_COMM_WORLD_SIZE), PMIx (PMIX_RANK), PMI (PMI_SIZE,
/// PMI_RANK) and Slurm (SLURM_STEP_NUM_TASKS, which srun sets and a batch script has not).
Launch find_launch();

}  // namespace gqa::program
