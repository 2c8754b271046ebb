#include "gqa/audit/filter/blas.hpp"

#include <cblas.h>

#include <mutex>

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
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, extent(m), extent(n), extent(k), 1.0, a.data,
              extent(a.stride), b.data, extent(b.stride), 0.0, result.data, extent(result.stride));
}

void multiply(std::size_t m, std::size_t n, std::size_t k, BlasMatrix<const double> a,
              BlasMatrix<const double> b, BlasMatrix<double> result) {
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, extent(m), extent(n), extent(k), 1.0,
              a.data, extent(a.stride), b.data, extent(b.stride), 0.0, result.data,
              extent(result.stride));
}

void multiply_left_transposed(std::size_t m, std::size_t n, std::size_t k,
                              BlasMatrix<const double> a, BlasMatrix<const double> b,
                              BlasMatrix<double> result) {
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
