/* A kernel built for an ABI that is not this one. */
#include "gqa/kernel/abi.h"

int gqa_kernel_run(const struct gqa_kernel_problem* p) {
  (void)p;
  return GQA_KERNEL_OK;
}

int gqa_kernel_capabilities(struct gqa_kernel_info* info) {
  info->abi_version = 77;
  return GQA_KERNEL_OK;
}
