/* A kernel whose process ends while it is loaded. */
#include <stdlib.h>

#include "gqa/kernel/abi.h"

__attribute__((constructor)) static void start(void) {
  abort();
}

int gqa_kernel_run(const struct gqa_kernel_problem* p) {
  (void)p;
  return GQA_KERNEL_OK;
}

int gqa_kernel_capabilities(struct gqa_kernel_info* info) {
  info->abi_version = GQA_KERNEL_ABI_VERSION;
  return GQA_KERNEL_OK;
}
