#include "bench_support.hpp"

namespace gqa_bench {

double dgemm_rate(int threads) {
  constexpr int n = 1024;
  constexpr int products = 4;
  openblas_set_num_threads(1);
  std::vector<std::vector<double>> a(static_cast<std::size_t>(threads),
                                     std::vector<double>(n * n, 0.5));
  auto c = a;
  const double seconds = time_of([&] {
                           tbb::parallel_for(std::size_t{0}, a.size(), [&](std::size_t t) {
                             for (int i = 0; i < products; ++i) {
                               cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0,
                                           a[t].data(), n, a[t].data(), n, 0.0, c[t].data(), n);
                             }
                           });
                         }).wall;
  return 2.0 * n * n * n * products * threads / seconds;
}

}  // namespace gqa_bench
