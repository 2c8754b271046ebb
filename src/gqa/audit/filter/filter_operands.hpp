// Blocks of keys and values, decoded once, with the norms that the bound needs.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "gqa/attention/attention_problem.hpp"
#include "gqa/audit/filter/filter_memory.hpp"
#include "gqa/audit/filter/vector_norms.hpp"

namespace gqa {

/// Maxima over the keys that a tile read.
struct OperandNorms {
  double key_square_sum = 0;           ///< largest computed |k_j|_2^2
  std::vector<double> column_maximum;  ///< [value_stride] |v_jc|
  std::vector<double> block_maximum;   ///< scratch
  double key_fourth_minimum = std::numeric_limits<double>::infinity();  ///< of sum k_jt^4
  double key_fourth_maximum = 0;

  void join(const OperandNorms& other);
};

/// Reads keys and values of one batch entry and KV head.
class OperandReader {
 public:
  OperandReader(const AttentionProblem& problem, const FilterOptions& options,
                const FilterShape& shape, std::int64_t batch, std::int64_t kv_head)
      : problem_(problem), options_(options), shape_(shape), batch_(batch), kv_head_(kv_head) {}

  /// Decodes keys [begin, end) into `memory` and raises `norms` (with options.radius).
  /// Rows that hold NaN or an infinity (or whose norm overflows) are set to zero there, so
  /// that a weight of zero hides them, and returned: rows that see them must be opened.
  std::vector<std::int64_t> read(std::int64_t begin, std::int64_t end, FilterMemory& memory,
                                 OperandNorms& norms) const;

 private:
  KeyPowers powers_of(const double* keys, std::size_t rows) const;
  void read_keys(std::int64_t begin, std::int64_t end, double* to, OperandNorms& norms,
                 std::vector<std::int64_t>& unfit) const;
  void read_values(std::int64_t begin, std::int64_t end, double* to, OperandNorms& norms,
                   std::vector<std::int64_t>& unfit) const;

  const AttentionProblem& problem_;
  const FilterOptions& options_;
  const FilterShape& shape_;
  std::int64_t batch_;
  std::int64_t kv_head_;
};

}  // namespace gqa
