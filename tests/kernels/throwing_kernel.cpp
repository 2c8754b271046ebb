// A kernel that lets C++ exceptions out: std::bad_alloc at the first call, then another.
#include <new>
#include <stdexcept>

#include "gqa/kernel/abi.h"

int gqa_kernel_run(const gqa_kernel_problem*) {
  static int calls = 0;
  if (++calls == 1) throw std::bad_alloc();
  throw std::runtime_error("the tile is too wide");
}

int gqa_kernel_capabilities(gqa_kernel_info* info) {
  info->abi_version = GQA_KERNEL_ABI_VERSION;
  return GQA_KERNEL_OK;
}
