/* A kernel that misbehaves as it is told by gqa_kernel_configure, one word and a number:
 * "crash", "hang", "write 4096", ... Without a word it fills the output with ones. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

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

/* Children that go on for a minute; `apart`: in a session of their own. */
static void start_children(long long count, bool apart) {
  for (long long i = 0; i < count; ++i) {
    if (fork() != 0) continue;
    if (apart) setsid();
    sleep(60);
    _exit(0);
  }
}

static void* write_late(void* memory) {
  usleep(500);
  for (int i = 0; i < 1000; ++i) ((volatile char*)memory)[0] ^= 1;
  return NULL;
}

static void* do_nothing(void* unused) {
  pause();
  return unused;
}

static void start_thread(void* (*work)(void*), void* argument) {
  pthread_t thread;
  pthread_create(&thread, NULL, work, argument);
}

/* Bytes of any kind and length to every descriptor that takes them. */
static void write_everywhere(size_t bytes) {
  static char garbage[1 << 16];
  memset(garbage, 'A', sizeof garbage);
  for (int descriptor = 0; descriptor < 10; ++descriptor) {
    if (send(descriptor, garbage, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) continue;
  }
}

/* What a call must leave as it found it. */
static void change_state(void) {
  sigset_t all;
  sigfillset(&all);
  if (strcmp(word, "round") == 0) fesetround(FE_UPWARD);
  if (strcmp(word, "mask") == 0) pthread_sigmask(SIG_SETMASK, &all, NULL);
  if (strcmp(word, "environment") == 0) setenv("GQA_TEST_KERNEL", "was here", 1);
  if (strcmp(word, "directory") == 0 && chdir("/") != 0) abort();
  if (strcmp(word, "traps") == 0) feenableexcept(FE_INEXACT);
#if defined(__x86_64__)
  if (strcmp(word, "flush") == 0) _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
}

/* What a sandbox keeps from a kernel: each that it gets through to is a wrong output. */
static int reach_out(void) {
  int reached = 0;
  const int file = open("/etc/passwd", O_RDONLY);
  if (file >= 0) reached |= 1;
  const int made = open("/tmp/gqa-misbehaving", O_CREAT | O_WRONLY, 0600);
  if (made >= 0) {
    reached |= 2;
    unlink("/tmp/gqa-misbehaving");
  }
  if (socket(AF_INET, SOCK_STREAM, 0) >= 0) reached |= 4;
  if (socket(AF_UNIX, SOCK_STREAM, 0) >= 0) reached |= 8;
  if (kill(getppid(), 0) == 0) reached |= 16;
  DIR* const processes = opendir("/proc");
  if (processes != NULL) reached |= 32;
  return reached;
}

static void start_others(const struct gqa_kernel_problem* p) {
  if (strcmp(word, "fork") == 0) start_children(number, false);
  if (strcmp(word, "escape") == 0) start_children(number, true);
  if (strcmp(word, "hold") == 0) {
    start_children(3, true);
    abort();
  }
  if (strcmp(word, "late") == 0) start_thread(write_late, p->output->data);
  if (strcmp(word, "thread") == 0) start_thread(do_nothing, NULL);
  if (strcmp(word, "garbage") == 0) write_everywhere((size_t)number);
  if (strcmp(word, "terminate_parent") == 0) kill(getppid(), (int)number);
  if (strcmp(word, "alarm") == 0) alarm(1);
  if (strcmp(word, "grow") == 0) {
    for (int descriptor = 3; descriptor < 10; ++descriptor) {
      if (ftruncate(descriptor, 1 << 30) != 0) continue;
    }
  }
  if (strcmp(word, "shrink") == 0) {
    for (int descriptor = 3; descriptor < 10; ++descriptor) {
      if (ftruncate(descriptor, 0) != 0) continue;
    }
  }
  if (strcmp(word, "ignore") == 0) {
    for (int signal_number = 1; signal_number < 65; ++signal_number) {
      signal(signal_number, SIG_IGN);
    }
    while (1) pause();
  }
}

int gqa_kernel_run(const struct gqa_kernel_problem* p) {
  char* output = p->output->data;
  volatile char sum = 0;
  volatile int depth = 0;
  fill_output(p, strcmp(word, "skip") == 0 ? number : -1);
  change_state();
  start_others(p);
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
  if (strcmp(word, "reach") == 0) return 100 + reach_out();
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
