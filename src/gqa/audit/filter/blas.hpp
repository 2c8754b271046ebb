// The matrix products of the filters, through CBLAS, one thread a call.
#pragma once

#include <cstddef>

namespace gqa {

/// Holds OpenBLAS to one thread a call while one of these lives, from any thread; other CBLAS
/// libraries must be set to one thread by their own means. The setting is global to the process.
class SingleThreadedBlas {
 public:
  SingleThreadedBlas();
  ~SingleThreadedBlas();
  SingleThreadedBlas(const SingleThreadedBlas&) = delete;
  SingleThreadedBlas& operator=(const SingleThreadedBlas&) = delete;
};

/// A row-major matrix with rows `stride` elements apart.
template <class T>
struct BlasMatrix {
  T* data;
  std::size_t stride;
};

/// result[m x n] = a[m x k] * transpose(b[n x k]). Each product of two elements is rounded
/// at most once and goes through at most k additions, in some order, fused or not (any
/// conventional algorithm; a Strassen-like one is not).
void multiply_transposed(std::size_t m, std::size_t n, std::size_t k, BlasMatrix<const double> a,
                         BlasMatrix<const double> b, BlasMatrix<double> result);

/// result[m x n] = a[m x k] * b[k x n], with the same errors.
void multiply(std::size_t m, std::size_t n, std::size_t k, BlasMatrix<const double> a,
              BlasMatrix<const double> b, BlasMatrix<double> result);
/// result[m x n] = transpose(a[k x m]) * b[k x n], with the same errors.
void multiply_left_transposed(std::size_t m, std::size_t n, std::size_t k,
                              BlasMatrix<const double> a, BlasMatrix<const double> b,
                              BlasMatrix<double> result);
/// The same in binary32.
void multiply(std::size_t m, std::size_t n, std::size_t k, BlasMatrix<const float> a,
              BlasMatrix<const float> b, BlasMatrix<float> result);
void multiply_left_transposed(std::size_t m, std::size_t n, std::size_t k,
                              BlasMatrix<const float> a, BlasMatrix<const float> b,
                              BlasMatrix<float> result);

}  // namespace gqa
