/* A shared object that is no kernel: it cannot be run. */
#include "gqa/kernel/abi.h"

int gqa_kernel_capabilities(struct gqa_kernel_info* info) {
  info->abi_version = GQA_KERNEL_ABI_VERSION;
  return GQA_KERNEL_OK;
}
