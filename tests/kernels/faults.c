#include "faults.h"

#include <stddef.h>
#include <string.h>

static bool active[fault_count];

bool has(enum fault fault) {
  return active[fault];
}

/* The fault of that name, or fault_count. */
static size_t find(const char* name, size_t length) {
#define GQA_FAULT_SLUG(id, slug) slug,
  static const char* const slugs[] = {GQA_FAULTS(GQA_FAULT_SLUG)};
#undef GQA_FAULT_SLUG
  size_t i = 0;
  while (i < fault_count && (strlen(slugs[i]) != length || memcmp(slugs[i], name, length) != 0)) {
    ++i;
  }
  return i;
}

bool set_faults(const char* list) {
  bool wanted[fault_count] = {false};
  while (*list != '\0') {
    const size_t length = strcspn(list, ",");
    const size_t fault = find(list, length);
    if (fault == fault_count) return false;
    wanted[fault] = true;
    list += length;
    if (*list == ',') ++list;
  }
  memcpy(active, wanted, sizeof active);
  return true;
}
