#include "gqa/audit/filter/blas.hpp"

#include <cblas.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <mutex>
#include <new>

extern "C" {
// Weak, so that another CBLAS can take OpenBLAS's place.
void openblas_set_num_threads(int threads) __attribute__((weak));
int openblas_get_num_threads() __attribute__((weak));
}

namespace gqa {
namespace {

std::mutex holders_mutex;
int holders = 0;
int threads_before = 0;

bool has_limited_addresses() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

// OpenBLAS keeps a buffer for every product that is under way at once. Refused one, it asks again
// without end, and so the audit would never end under a limit on addresses (ulimit -v): there it is
// seen first whether one more can be had. (Twice its size, for others that ask meanwhile.)
class BufferRoom {
 public:
  BufferRoom() {
    static const bool is_limited = has_limited_addresses();
    const std::lock_guard lock(mutex_);
    if (is_limited && under_way_ == most_ && !has_room()) throw std::bad_alloc();
    if (++under_way_ > most_) most_ = under_way_;
  }
  ~BufferRoom() {
    const std::lock_guard lock(mutex_);
    --under_way_;
  }
  BufferRoom(const BufferRoom&) = delete;
  BufferRoom& operator=(const BufferRoom&) = delete;

 private:
  static bool has_room() {
    constexpr std::size_t buffer_bytes = std::size_t{128} << 20;
    void* room = mmap(nullptr, 2 * buffer_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return false;
    munmap(room, 2 * buffer_bytes);
    return true;
  }

  static inline std::mutex mutex_;
  static inline int under_way_ = 0;
  static inline int most_ = 0;  // that were under way at once: as many buffers are there
};

int extent(std::size_t n) {
  return static_cast<int>(n);
}

}  // namespace

// The first to come sets, the last to go restores: they overlap where histories are worked on in
// parallel.
SingleThreadedBlas::SingleThreadedBlas() {
  const std::lock_guard lock(holders_mutex);
  if (holders++ > 0) return;
  if (openblas_get_num_threads != nullptr) threads_before = openblas_get_num_threads();
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(1);
}

SingleThreadedBlas::~SingleThreadedBlas() {
  const std::lock_guard lock(holders_mutex);
  if (--holders > 0) return;
  if (openblas_set_num_threads != nullptr && threads_before > 0) {
    openblas_set_num_threads(threads_before);
  }
}

void multiply_transposed(std::size_t m, std::size_t n, std::size_t k, BlasMatrix<const double> a,
                         BlasMatrix<const double> b, BlasMatrix<double> result) {
  const BufferRoom room;
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, extent(m), extent(n), extent(k), 1.0, a.data,
              extent(a.stride), b.data, extent(b.stride), 0.0, result.data, extent(result.stride));
}

void multiply(std::size_t m, std::size_t n, std::size_t k, BlasMatrix<const double> a,
              BlasMatrix<const double> b, BlasMatrix<double> result) {
  const BufferRoom room;
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, extent(m), extent(n), extent(k), 1.0,
              a.data, extent(a.stride), b.data, extent(b.stride), 0.0, result.data,
              extent(result.stride));
}

void multiply_left_transposed(std::size_t m, std::size_t n, std::size_t k,
                              BlasMatrix<const double> a, BlasMatrix<const double> b,
                              BlasMatrix<double> result) {
  const BufferRoom room;
  cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, extent(m), extent(n), extent(k), 1.0, a.data,
              extent(a.stride), b.data, extent(b.stride), 0.0, result.data, extent(result.stride));
}

void multiply(std::size_t m, std::size_t n, std::size_t k, BlasMatrix<const float> a,
              BlasMatrix<const float> b, BlasMatrix<float> result) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, extent(m), extent(n), extent(k), 1.0F,
              a.data, extent(a.stride), b.data, extent(b.stride), 0.0F, result.data,
              extent(result.stride));
}

void multiply_left_transposed(std::size_t m, std::size_t n, std::size_t k,
                              BlasMatrix<const float> a, BlasMatrix<const float> b,
                              BlasMatrix<float> result) {
  cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, extent(m), extent(n), extent(k), 1.0F,
              a.data, extent(a.stride), b.data, extent(b.stride), 0.0F, result.data,
              extent(result.stride));
}

}  // namespace gqa
