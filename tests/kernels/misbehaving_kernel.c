/* A kernel that misbehaves as it is told by gqa_kernel_configure, one word and a number:
 * "crash", "hang", "write 4096", ... Without a word it fills the output with ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elements.h"
#include "rules.h"

static char word[32];
static long long number;

static int64_t output_elements(const struct gqa_kernel_problem* p) {
  return p->batch * p->q_heads * p->queries * p->value_size;
}

/* Element `skipped` is left out; the output is dense. */
static void fill_output(const struct gqa_kernel_problem* p, int64_t skipped) {
  for (int64_t i = 0; i < output_elements(p); ++i) {
    if (i != skipped) store_element(p->output, i, 1);
  }
}

static void allocate_without_end(void) {
  const size_t block = (size_t)1 << 20;
  while (1) {
    volatile char* memory = malloc(block); /* volatile: the stores are not to be left out */
    for (size_t i = 0; i < block; i += 64) memory[i] = 1; /* the end is not looked for */
  }
}

static int recurse(volatile int* depth) {
  volatile char frame[4096] = {0};
  if (++*depth < 0) return 0;
  return recurse(depth) + frame[*depth % 4096];
}

int gqa_kernel_run(const struct gqa_kernel_problem* p) {
  char* output = p->output->data;
  volatile char sum = 0;
  volatile int depth = 0;
  fill_output(p, strcmp(word, "skip") == 0 ? number : -1);
  if (strcmp(word, "crash") == 0) *(volatile int*)(intptr_t)number = 1;
  if (strcmp(word, "abort") == 0) abort();
  if (strcmp(word, "exit") == 0) exit((int)number);
  if (strcmp(word, "hang") == 0) pause();
  if (strcmp(word, "spin") == 0) {
    while (1) sum = 1;
  }
  if (strcmp(word, "allocate") == 0) allocate_without_end();
  if (strcmp(word, "recurse") == 0) recurse(&depth);
  if (strcmp(word, "write") == 0) output[number] = 1;
  if (strcmp(word, "read_key") == 0) sum = ((const char*)p->key->data)[number];
  if (strcmp(word, "change_value") == 0) ((char*)p->value->data)[number] ^= 1;
  if (strcmp(word, "close") == 0) {
    for (int descriptor = 0; descriptor < 10; ++descriptor) close(descriptor);
  }
  if (strcmp(word, "print") == 0) puts("{\"a kernel\": \"that prints\"}");
  return strcmp(word, "return") == 0 ? (int)number : GQA_KERNEL_OK + 0 * sum;
}

int gqa_kernel_capabilities(struct gqa_kernel_info* info) {
  return describe_kernel(info, "misbehaving on demand");
}

int gqa_kernel_configure(const char* options) {
  word[0] = '\0';
  number = 0;
  sscanf(options, "%31s %lld", word, &number);
  return strcmp(word, "refuse") == 0 ? 3 : GQA_KERNEL_OK;
}
