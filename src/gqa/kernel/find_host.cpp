#include <array>
#include <system_error>

#include "gqa/error.hpp"
#include "gqa/kernel/host.hpp"

namespace gqa {

std::filesystem::path find_kernel_host() {
  std::error_code ignored;
  const std::filesystem::path folder =
      std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  const std::array places{folder / "gqaverify-kernel-host",
                          folder.parent_path() / "libexec/gqaverify/gqaverify-kernel-host",
                          std::filesystem::path(GQAVERIFY_KERNEL_HOST_INSTALLED)};
  for (const auto& place : places) {
    if (std::filesystem::is_regular_file(place, ignored)) return place;
  }
  throw InputError("kernel.host_not_found", places.front().string(),
                   "the program that runs kernels is not there; it is built and installed with "
                   "gqaverify");
}

}  // namespace gqa
