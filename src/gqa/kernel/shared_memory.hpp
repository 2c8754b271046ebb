// Memory that a kernel's process shares with ours.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gqa {

/// An anonymous file, mapped here; its descriptor is handed to the other process. It is sealed: it
/// may grow, and nobody makes it smaller.
class SharedMemory {
 public:
  /// Errors: InputError "kernel.shared_memory" if the system refuses; so `reserve`.
  SharedMemory();
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// Makes at least so many bytes; pages never touched take no memory.
  void reserve(std::uint64_t bytes);
  std::byte* data() { return data_; }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace gqa
