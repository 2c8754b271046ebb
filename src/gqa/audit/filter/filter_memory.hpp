// The buffers of one thread at work on a tile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gqa/attention/attention_problem.hpp"
#include "gqa/audit/filter/filter_tile_result.hpp"

namespace gqa {

/// Widths rounded up to whole vectors.
struct FilterShape {
  std::size_t rows;          ///< of a tile, at most
  std::size_t keys;          ///< of a block, at most
  std::size_t key_stride;    ///< dk, padded
  std::size_t value_stride;  ///< dv, padded

  FilterShape(const Dimensions& dimensions, const FilterOptions& options, std::int64_t tile_rows);
};

/// Rows of `key_stride` or `value_stride` elements are zero beyond dk and dv.
struct FilterMemory {
  std::vector<double> query;     ///< rows x key_stride, scaled
  std::vector<double> key;       ///< keys x key_stride
  std::vector<double> value;     ///< keys x value_stride
  std::vector<double> scores;    ///< rows x keys; the weights take their place
  std::vector<double> products;  ///< rows x value_stride: weights * value of one block
  std::vector<double> bias;      ///< keys: of one row
  std::vector<double> raw;       ///< the scores of one row before that
  std::vector<double> factors;   ///< rows: of the sums so far

  std::vector<float> square_weights;   ///< rows x keys, model terms only, as below
  std::vector<float> square_values;    ///< keys x value_stride
  std::vector<float> square_products;  ///< rows x value_stride

  FilterMemory(const FilterShape& shape, bool model_terms);
};

}  // namespace gqa
