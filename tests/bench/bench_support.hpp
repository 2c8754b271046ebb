// Problems with binary32 operands, a healthy binary32 kernel, and times of variants in turns.
#pragma once

#include <cblas.h>
#include <sys/resource.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "gqa/attention/attention_problem.hpp"

namespace gqa_bench {

using namespace gqa;

inline std::shared_ptr<TypedTensor> normal_tensor(const Shape& shape, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  auto tensor = std::make_shared<TypedTensor>();
  tensor->type = ElementType::binary32;
  tensor->shape = shape;
  tensor->bytes.resize(static_cast<std::size_t>(element_count(shape)) * sizeof(float));
  for (std::size_t at = 0; at < tensor->bytes.size(); at += sizeof(float)) {
    const float value = normal(random);
    std::memcpy(tensor->bytes.data() + at, &value, sizeof value);
  }
  return tensor;
}

/// Row-major binary32 elements of a tensor, in place.
inline float* floats(TypedTensor& tensor) {
  return reinterpret_cast<float*>(tensor.bytes.data());
}
inline const float* floats(const TypedTensor& tensor) {
  return reinterpret_cast<const float*>(tensor.bytes.data());
}

/// Sizes of a problem with one batch entry.
struct Case {
  std::int64_t queries;
  std::int64_t keys;
  bool causal = false;
  std::int64_t q_heads = 32;
  std::int64_t kv_heads = 8;
  static constexpr std::int64_t width = 128;

  /// query [1, Hq, T, d], key and value [1, Hkv, S, d], standard normal.
  ProblemTensors tensors() const {
    ProblemTensors tensors;
    tensors.query = normal_tensor({1, q_heads, queries, width}, 1);
    tensors.key = normal_tensor({1, kv_heads, keys, width}, 2);
    tensors.value = normal_tensor({1, kv_heads, keys, width}, 3);
    return tensors;
  }
  Contract contract() const {
    Contract contract;
    contract.causal = causal;
    return contract;
  }
  /// Of the two products over the visible keys.
  double floating_point_operations() const {
    const auto rows = static_cast<double>(q_heads * queries);
    const auto all = static_cast<double>(keys);
    const double seen = causal ? all - (static_cast<double>(queries) - 1) / 2 : all;
    return rows * seen * 4 * static_cast<double>(width);
  }
};

/// What a healthy binary32 kernel makes of the operands: sgemm, expf, sgemm, division, row
/// blocks of 64, every step in binary32. Causal from the bottom right if the case says so.
inline std::shared_ptr<TypedTensor> binary32_output(const Case& sizes,
                                                    const ProblemTensors& tensors) {
  constexpr std::int64_t block = 64;
  constexpr int width = static_cast<int>(Case::width);
  auto output = std::make_shared<TypedTensor>();
  output->shape = tensors.query->shape;
  output->bytes.resize(tensors.query->bytes.size());
  const std::int64_t blocks = (sizes.queries + block - 1) / block;
  const std::int64_t group = sizes.q_heads / sizes.kv_heads;
  const auto keys = static_cast<int>(sizes.keys);
  openblas_set_num_threads(1);
  tbb::parallel_for(std::int64_t{0}, sizes.q_heads * blocks, [&](std::int64_t task) {
    const std::int64_t head = task / blocks;
    const std::int64_t first = task % blocks * block;
    const auto rows = static_cast<int>(std::min(block, sizes.queries - first));
    const std::int64_t at = (head * sizes.queries + first) * width;
    const std::int64_t history = head / group * sizes.keys * width;
    std::vector<float> scores(static_cast<std::size_t>(rows * keys));
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, keys, width,
                1 / std::sqrt(static_cast<float>(width)), floats(*tensors.query) + at, width,
                floats(*tensors.key) + history, width, 0.0F, scores.data(), keys);
    std::vector<float> totals;
    for (int r = 0; r < rows; ++r) {
      float* row = scores.data() + static_cast<std::ptrdiff_t>(r) * keys;
      const std::int64_t seen =
          sizes.causal ? first + r + 1 + sizes.keys - sizes.queries : sizes.keys;
      const float largest = *std::max_element(row, row + seen);
      float total = 0;
      for (std::int64_t j = 0; j < seen; ++j) total += row[j] = std::exp(row[j] - largest);
      std::fill(row + seen, row + keys, 0.0F);
      totals.push_back(total);
    }
    float* to = floats(*output) + at;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, width, keys, 1.0F, scores.data(),
                keys, floats(*tensors.value) + history, width, 0.0F, to, width);
    for (int e = 0; e < rows * width; ++e) to[e] /= totals[static_cast<std::size_t>(e / width)];
  });
  return output;
}

struct Time {
  double wall = 0;
  double cpu = 0;
};

inline double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec);
}

inline Time time_of(const std::function<void()>& body) {
  const auto wall = std::chrono::steady_clock::now();
  const double cpu = cpu_seconds();
  body();
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count(),
          cpu_seconds() - cpu};
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// The rate of a product on every core at once, in operations a second: what the machine
/// can do. Sets the BLAS to one thread a call.
double dgemm_rate(int threads);

}  // namespace gqa_bench
