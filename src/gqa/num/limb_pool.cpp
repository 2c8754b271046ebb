#include "gqa/num/limb_pool.hpp"

#include <gmp.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

namespace gqa {
namespace {

constexpr std::size_t block_size = 32;
constexpr std::size_t blocks_per_chunk = 256;

// A free block holds the link to the next one.
union Block {
  Block* next;
  std::byte bytes[block_size];
};

// Blocks freed by another thread than the one that took them join the freeing thread's
// list: they all are alike. Chunks are never returned; a thread's list is small change.
thread_local Block* free_blocks = nullptr;

Block* new_chunk() {
  auto* chunk = static_cast<Block*>(std::malloc(blocks_per_chunk * sizeof(Block)));
  if (chunk == nullptr) throw std::bad_alloc();
  for (std::size_t i = 0; i + 1 < blocks_per_chunk; ++i) chunk[i].next = &chunk[i + 1];
  chunk[blocks_per_chunk - 1].next = nullptr;
  return chunk;
}

void* allocate(std::size_t size) {
  if (size > block_size) {
    void* memory = std::malloc(size);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }
  if (free_blocks == nullptr) free_blocks = new_chunk();
  Block* block = free_blocks;
  free_blocks = block->next;
  return block;
}

void release(void* memory, std::size_t size) {
  if (size > block_size) {
    std::free(memory);
    return;
  }
  auto* block = static_cast<Block*>(memory);
  block->next = free_blocks;
  free_blocks = block;
}

void* reallocate(void* memory, std::size_t old_size, std::size_t new_size) {
  if (old_size <= block_size && new_size <= block_size) return memory;
  void* moved = allocate(new_size);
  std::memcpy(moved, memory, std::min(old_size, new_size));
  release(memory, old_size);
  return moved;
}

}  // namespace

void use_limb_pool() {
  mp_set_memory_functions(allocate, reallocate, release);
}

}  // namespace gqa
