#include "gqa/audit/filter/filter_operands.hpp"

#include <algorithm>
#include <cmath>

#include "gqa/audit/filter/vector_norms.hpp"

namespace gqa {
namespace {

// Sets the rows with a square sum that is not finite to zero and notes their keys.
void clear_unfit_rows(double* data, std::int64_t first_key, std::int64_t rows, std::size_t stride,
                      std::vector<std::int64_t>& unfit) {
  for (std::int64_t r = 0; r < rows; ++r, data += stride) {
    if (std::isfinite(square_sum(data, stride))) continue;
    std::fill_n(data, stride, 0.0);
    unfit.push_back(first_key + r);
  }
}

}  // namespace

void OperandNorms::join(const OperandNorms& other) {
  key_square_sum = std::max(key_square_sum, other.key_square_sum);
  key_fourth_minimum = std::min(key_fourth_minimum, other.key_fourth_minimum);
  key_fourth_maximum = std::max(key_fourth_maximum, other.key_fourth_maximum);
  for (std::size_t c = 0; c < column_maximum.size(); ++c) {
    column_maximum[c] = std::max(column_maximum[c], other.column_maximum[c]);
  }
}

std::vector<std::int64_t> OperandReader::read(std::int64_t begin, std::int64_t end,
                                              FilterMemory& memory, OperandNorms& norms) const {
  std::vector<std::int64_t> unfit;
  // A block is read whole before its norms are taken: shorter streams from memory, broken
  // by arithmetic, cost decoding a quarter (measured), the second pass over the cache less.
  read_keys(begin, end, memory.key.data(), norms, unfit);
  read_values(begin, end, memory.value.data(), norms, unfit);
  return unfit;
}

void OperandReader::read_keys(std::int64_t begin, std::int64_t end, double* to, OperandNorms& norms,
                              std::vector<std::int64_t>& unfit) const {
  problem_.key.read_rows(batch_, kv_head_, begin, end, to, shape_.key_stride);
  if (!options_.radius) return;
  const auto rows = static_cast<std::size_t>(end - begin);
  KeyPowers powers = powers_of(to, rows);
  if (!std::isfinite(powers.largest_square_sum)) {
    clear_unfit_rows(to, begin, end - begin, shape_.key_stride, unfit);
    powers = powers_of(to, rows);
  }
  norms.key_square_sum = std::max(norms.key_square_sum, powers.largest_square_sum);
  norms.key_fourth_minimum = std::min(norms.key_fourth_minimum, powers.smallest_fourth_sum);
  norms.key_fourth_maximum = std::max(norms.key_fourth_maximum, powers.largest_fourth_sum);
}

KeyPowers OperandReader::powers_of(const double* keys, std::size_t rows) const {
  if (options_.model_terms) return powers_of_rows(keys, rows, shape_.key_stride);
  KeyPowers powers;
  powers.largest_square_sum = largest_square_sum(keys, rows, shape_.key_stride);
  return powers;
}

void OperandReader::read_values(std::int64_t begin, std::int64_t end, double* to,
                                OperandNorms& norms, std::vector<std::int64_t>& unfit) const {
  problem_.value.read_rows(batch_, kv_head_, begin, end, to, shape_.value_stride);
  if (!options_.radius) return;
  const auto rows = static_cast<std::size_t>(end - begin);
  std::vector<double>& maxima = norms.block_maximum;
  maxima.resize(shape_.value_stride);
  column_maxima(maxima.data(), to, rows, shape_.value_stride);
  if (raise_if_finite(norms.column_maximum.data(), maxima.data(), shape_.value_stride)) return;
  clear_unfit_rows(to, begin, end - begin, shape_.value_stride, unfit);
  column_maxima(maxima.data(), to, rows, shape_.value_stride);
  raise_if_finite(norms.column_maximum.data(), maxima.data(), shape_.value_stride);
}

}  // namespace gqa
