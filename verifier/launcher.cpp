#include "launcher.hpp"

#include <algorithm>
#include <cstdlib>
#include <initializer_list>

namespace gqa::program {
namespace {

int number(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

}  // namespace

Launch find_launch() {
  Launch launch;
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    launch.processes = std::max(launch.processes, number(variable));
  }
  launch.by_mpi = launch.processes > 1;
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"}) {
    launch.by_mpi = launch.by_mpi || std::getenv(variable) != nullptr;
  }
  return launch;
}

}  // namespace gqa::program
