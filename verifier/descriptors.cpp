#include "descriptors.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace gqa::program {

void hold_standard_descriptors() noexcept {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) >= 0) continue;
    // The lowest free number, which is this one. Nothing is done if even that fails.
    const int opened = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened > descriptor) close(opened);
  }
}

}  // namespace gqa::program
