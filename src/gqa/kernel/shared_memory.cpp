#include "gqa/kernel/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "gqa/error.hpp"

namespace gqa {
namespace {

[[noreturn]] void refuse(int error) {
  throw InputError("kernel.shared_memory", "memory", std::generic_category().message(error));
}

}  // namespace

SharedMemory::SharedMemory() {
  const int low = memfd_create("gqaverify-kernel", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (low < 0) refuse(errno);
  // The other process holds the descriptor too: made smaller under our mapping, the file would end
  // this process by SIGBUS.
  if (fcntl(low, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    const int error = errno;
    close(low);
    refuse(error);
  }
  // Above the small numbers that a child's descriptors are moved to.
  descriptor_ = fcntl(low, F_DUPFD_CLOEXEC, 10);
  const int error = errno;
  close(low);
  if (descriptor_ < 0) refuse(error);
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) munmap(data_, bytes_);
  if (descriptor_ >= 0) close(descriptor_);
}

void SharedMemory::reserve(std::uint64_t bytes) {
  if (bytes <= bytes_) return;
  struct stat file {};
  if (fstat(descriptor_, &file) != 0) refuse(errno);
  // The other process may have made it larger, and nobody can make it smaller again.
  const auto size = static_cast<off_t>(bytes);
  if (file.st_size < size && ftruncate(descriptor_, size) != 0) refuse(errno);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (memory == MAP_FAILED) refuse(errno);
  if (data_ != nullptr) munmap(data_, bytes_);
  data_ = static_cast<std::byte*>(memory);
  bytes_ = bytes;
}

}  // namespace gqa
