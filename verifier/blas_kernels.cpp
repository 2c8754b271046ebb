#include "blas_kernels.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

// Weak, so that another CBLAS can take OpenBLAS's place.
extern "C" char* openblas_get_corename() __attribute__((weak));

namespace gqa::program {
namespace {

constexpr const char* variable = "OPENBLAS_CORETYPE";

// Those whose work is products of matrices.
bool multiplies_matrices(std::string_view command) {
  constexpr std::array<std::string_view, 3> commands{"audit", "identify", "probe"};
  return std::ranges::find(commands, command) != commands.end();
}

bool has_avx2() {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
#else
  return false;
#endif
}

bool has_avx512() {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512cd") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0;
#else
  return false;
#endif
}

// What OpenBLAS should be told to use instead of those called `chosen`; null: nothing.
const char* better_kernels(const char* chosen, bool avx2, bool avx512) {
  // OpenBLAS's names for kernels without AVX, as it spells them (cpuid.S and dynamic.c).
  constexpr std::array<std::string_view, 14> without_avx{
      "Katmai", "Coppermine", "Northwood", "Prescott", "Banias",  "Atom",      "Core2",
      "Penryn", "Dunnington", "Nehalem",   "Athlon",   "Opteron", "Barcelona", "generic"};
  if (chosen == nullptr || !avx2) return nullptr;
  if (std::ranges::find(without_avx, std::string_view(chosen)) == without_avx.end()) return nullptr;
  return avx512 ? "SkylakeX" : "Haswell";
}

}  // namespace

void choose_blas_kernels(int argc, char** argv) {
  if (argc < 2 || !multiplies_matrices(argv[1]) || std::getenv(variable) != nullptr) return;
  if (openblas_get_corename == nullptr) return;
  const char* kernels = better_kernels(openblas_get_corename(), has_avx2(), has_avx512());
  if (kernels == nullptr || setenv(variable, kernels, 0) != 0) return;
  execv("/proc/self/exe", argv);
  // Not on this system: slower, and as right.
}

}  // namespace gqa::program
