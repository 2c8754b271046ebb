#include "gqa/audit/filter/filter_memory.hpp"

#include <algorithm>

#include "gqa/audit/filter/vector_exp.hpp"

namespace gqa {

FilterShape::FilterShape(const Dimensions& dimensions, const FilterOptions& options,
                         std::int64_t tile_rows)
    : rows(static_cast<std::size_t>(tile_rows)),
      // A short history needs no memory for a whole block, which a small audit would spend a tenth
      // of its time to clear.
      keys(std::min(static_cast<std::size_t>(options.key_block),
                    padded(static_cast<std::size_t>(dimensions.keys)))),
      key_stride(padded(static_cast<std::size_t>(dimensions.key_size))),
      value_stride(padded(static_cast<std::size_t>(dimensions.value_size))) {}

FilterMemory::FilterMemory(const FilterShape& shape, bool model_terms)
    : query(shape.rows * shape.key_stride),
      key(shape.keys * shape.key_stride),
      value(shape.keys * shape.value_stride),
      scores(shape.rows * shape.keys),
      products(shape.rows * shape.value_stride),
      bias(shape.keys),
      factors(shape.rows) {
  if (!model_terms) return;
  square_weights.resize(shape.rows * shape.keys);
  square_values.resize(shape.keys * shape.value_stride);
  square_products.resize(shape.rows * shape.value_stride);
}

}  // namespace gqa
