#include "gqa/audit/blas.hpp"

#include <cblas.h>

extern "C" {
// Weak, so that another CBLAS can take OpenBLAS's place.
void openblas_set_num_threads(int threads) __attribute__((weak));
int openblas_get_num_threads() __attribute__((weak));
}

namespace gqa {
namespace {

int extent(std::size_t n) {
  return static_cast<int>(n);
}

}  // namespace

SingleThreadedBlas::SingleThreadedBlas() {
  if (openblas_get_num_threads != nullptr) previous_ = openblas_get_num_threads();
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(1);
}

SingleThreadedBlas::~SingleThreadedBlas() {
  if (openblas_set_num_threads != nullptr && previous_ > 0) openblas_set_num_threads(previous_);
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

}  // namespace gqa
