#include "gqa/attention/typed_tensor.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

#include "gqa/error.hpp"
#include "gqa/num/decode_elements.hpp"

namespace gqa {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are stored little-endian");

struct ElementTypeRow {
  std::string_view name;
  std::size_t size;
  const FloatFormat* format;
};

// In the order of ElementType.
constexpr std::array<ElementTypeRow, 11> element_types{{
    {"binary64", 8, &binary64},
    {"binary32", 4, &binary32},
    {"binary16", 2, &binary16},
    {"bfloat16", 2, &bfloat16},
    {"float8_e4m3fn", 1, &float8_e4m3fn},
    {"float8_e5m2", 1, &float8_e5m2},
    {"bool", 1, nullptr},
    {"int8", 1, nullptr},
    {"uint8", 1, nullptr},
    {"int32", 4, nullptr},
    {"int64", 8, nullptr},
}};

const ElementTypeRow& row_of(ElementType type) {
  return element_types.at(static_cast<std::size_t>(type));
}

template <class Word>
Word load(const std::byte* source) {
  Word word;
  std::memcpy(&word, source, sizeof word);
  return word;
}

void check_size(const TypedTensor& tensor, const std::string& where) {
  const auto count = static_cast<std::size_t>(element_count(tensor.shape, where));
  const std::size_t size = element_size(tensor.type);
  if (tensor.bytes.size() % size != 0 || tensor.bytes.size() / size != count) {
    throw InputError("tensor.size_mismatch", where,
                     fmt::format("shape {} of {} does not fit {} bytes", to_text(tensor.shape),
                                 name(tensor.type), tensor.bytes.size()));
  }
}

// Applies `convert` to every element, read as a Word.
template <class Word, class Convert>
Tensor<std::int64_t> convert_elements(const TypedTensor& tensor, Convert convert) {
  std::vector<std::int64_t> values(tensor.size());
  const std::byte* source = tensor.bytes.data();
  for (std::int64_t& value : values) {
    value = convert(load<Word>(source));
    source += sizeof(Word);
  }
  return {tensor.shape, std::move(values)};
}

template <class Word>
Tensor<std::int64_t> widen_words(const TypedTensor& tensor) {
  return convert_elements<Word>(tensor, [](Word word) { return static_cast<std::int64_t>(word); });
}

}  // namespace

std::string_view name(ElementType type) {
  return row_of(type).name;
}
std::size_t element_size(ElementType type) {
  return row_of(type).size;
}
const FloatFormat* float_format(ElementType type) {
  return row_of(type).format;
}

std::uint64_t TypedTensor::bits(std::size_t index) const {
  const std::size_t width = element_size(type);
  std::uint64_t result = 0;
  std::memcpy(&result, bytes.data() + index * width, width);
  return result;
}

Tensor<double> decode(const TypedTensor& tensor, const std::string& where) {
  const FloatFormat* format = float_format(tensor.type);
  if (format == nullptr) {
    throw InputError(
        "tensor.not_floating_point", where,
        fmt::format("has element type {}, expected a floating-point type", name(tensor.type)));
  }
  check_size(tensor, where);
  std::vector<double> values(tensor.size());
  decode_elements(*format, tensor.bytes.data(), values.size(), values.data());
  return {tensor.shape, std::move(values)};
}

Tensor<std::int64_t> decode_integers(const TypedTensor& tensor, const std::string& where) {
  if (float_format(tensor.type) != nullptr) {
    throw InputError(
        "tensor.not_integer", where,
        fmt::format("has element type {}, expected an integer type or bool", name(tensor.type)));
  }
  check_size(tensor, where);
  switch (tensor.type) {
    case ElementType::boolean:
      return convert_elements<std::uint8_t>(
          tensor, [](std::uint8_t byte) { return std::int64_t{byte != 0}; });
    case ElementType::int8:
      return widen_words<std::int8_t>(tensor);
    case ElementType::uint8:
      return widen_words<std::uint8_t>(tensor);
    case ElementType::int32:
      return widen_words<std::int32_t>(tensor);
    default:
      return widen_words<std::int64_t>(tensor);
  }
}

}  // namespace gqa
