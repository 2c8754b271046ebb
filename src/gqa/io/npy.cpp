#include "gqa/io/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "gqa/error.hpp"
#include "gqa/io/file.hpp"
#include "gqa/io/npy_header.hpp"

namespace gqa {
namespace {

// The elements' bytes, exactly as many as shape and type say.
std::span<const std::byte> data_of(std::span<const std::byte> bytes, const NpyHeader& header,
                                   const std::string& where) {
  std::uint64_t count = 0;
  try {
    count = static_cast<std::uint64_t>(element_count(header.shape, where + ": header: shape"));
  } catch (const InputError& error) {
    throw InputError("npy.too_large", error.where(), error.message());
  }
  const std::span<const std::byte> data = bytes.subspan(header.data_offset);
  const std::uint64_t size = element_size(header.type);
  // Divided, because count * size could overflow.
  const bool trailing =
      data.size() / size > count || (data.size() / size == count && data.size() % size != 0);
  if (trailing || data.size() / size < count) {
    throw InputError(
        trailing ? "npy.trailing_bytes" : "npy.truncated", where,
        fmt::format("{} bytes follow the header's end at byte {}, but shape {} of {} has {} "
                    "elements of {}",
                    data.size(), header.data_offset, to_text(header.shape), name(header.type),
                    count, size));
  }
  return data;
}

void swap_bytes(std::vector<std::byte>& bytes, std::size_t size) {
  for (auto element = bytes.begin(); element != bytes.end();
       element += static_cast<std::ptrdiff_t>(size)) {
    std::reverse(element, element + static_cast<std::ptrdiff_t>(size));
  }
}

// First axis contiguous -> last axis contiguous.
std::vector<std::byte> transposed(std::span<const std::byte> data, const Shape& shape,
                                  std::size_t size) {
  std::vector<std::size_t> strides;
  std::size_t stride = size;
  for (const std::int64_t extent : shape) {
    strides.push_back(stride);
    stride *= static_cast<std::size_t>(extent);
  }
  std::vector<std::byte> result(data.size());
  std::vector<std::int64_t> index(shape.size(), 0);
  std::size_t from = 0;
  for (std::size_t to = 0; to < result.size(); to += size) {
    std::memcpy(result.data() + to, data.data() + from, size);
    // The last axis turns fastest, as in an odometer.
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      from += strides[axis];
      if (++index[axis] < shape[axis]) break;
      from -= strides[axis] * static_cast<std::size_t>(shape[axis]);
      index[axis] = 0;
    }
  }
  return result;
}

}  // namespace

TypedTensor parse_npy(std::span<const std::byte> bytes, const std::string& where) {
  NpyHeader header = parse_npy_header(bytes, where);
  const std::span<const std::byte> data = data_of(bytes, header, where);
  const std::size_t size = element_size(header.type);
  const bool transpose = header.fortran_order && header.shape.size() > 1 && !data.empty();
  std::vector<std::byte> elements = transpose ? transposed(data, header.shape, size)
                                              : std::vector<std::byte>(data.begin(), data.end());
  if (header.big_endian) swap_bytes(elements, size);
  return {header.type, std::move(header.shape), std::move(elements)};
}

TypedTensor read_npy(const std::filesystem::path& path) {
  return parse_npy(read_file(path), path.string());
}

}  // namespace gqa
