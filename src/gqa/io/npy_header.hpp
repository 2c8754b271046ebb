// The header of NumPy's .npy format.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "gqa/attention/typed_tensor.hpp"

namespace gqa {

/// The largest header, in bytes, that is read; NumPy writes 118.
inline constexpr std::size_t max_npy_header = 1'000'000;

struct NpyHeader {
  ElementType type = ElementType::binary32;
  bool big_endian = false;
  bool fortran_order = false;  ///< the first axis is contiguous
  Shape shape;
  std::size_t data_offset = 0;  ///< bytes before the first element
};

/// Reads the header: the magic string, a version (1.0, 2.0 or 3.0), a length, and a
/// Python dictionary literal of exactly descr, fortran_order and shape.
///
/// Errors: as listed at parse_npy.
NpyHeader parse_npy_header(std::span<const std::byte> bytes, const std::string& where);

}  // namespace gqa
