#include "gqa/theory/storage_format.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <vector>

#include "gqa/error.hpp"
#include "gqa/near_words.hpp"
#include "gqa/theory/exact_integer.hpp"

namespace gqa {
namespace {

struct NamedType {
  std::string_view name;
  ElementType type;
};
constexpr std::array element_types{
    NamedType{"binary64", ElementType::binary64},
    NamedType{"float64", ElementType::binary64},
    NamedType{"fp64", ElementType::binary64},
    NamedType{"double", ElementType::binary64},
    NamedType{"binary32", ElementType::binary32},
    NamedType{"float32", ElementType::binary32},
    NamedType{"fp32", ElementType::binary32},
    NamedType{"binary16", ElementType::binary16},
    NamedType{"float16", ElementType::binary16},
    NamedType{"fp16", ElementType::binary16},
    NamedType{"half", ElementType::binary16},
    NamedType{"bfloat16", ElementType::bfloat16},
    NamedType{"bf16", ElementType::bfloat16},
    NamedType{"float8_e4m3fn", ElementType::float8_e4m3fn},
    NamedType{"float8_e5m2", ElementType::float8_e5m2},
    NamedType{"int8", ElementType::int8},
};

struct BlockFormat {
  std::string_view name;
  std::int64_t elements;
  std::int64_t bytes;
};
// A binary16 scale (and a minimum in the _1 formats), the high bits of the q5 formats, the rest.
constexpr std::array block_formats{
    BlockFormat{"q8_0", 32, 2 + 32},     BlockFormat{"q5_1", 32, 2 + 2 + 4 + 16},
    BlockFormat{"q5_0", 32, 2 + 4 + 16}, BlockFormat{"q4_1", 32, 2 + 2 + 16},
    BlockFormat{"q4_0", 32, 2 + 16},     BlockFormat{"iq4_nl", 32, 2 + 16},
};

std::optional<std::int64_t> count_from(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

StorageFormat storage_format(ElementType type) {
  return {std::string(name(type)), 1, static_cast<std::int64_t>(element_size(type))};
}

StorageFormat parse_storage_format(std::string_view text, const std::string& where) {
  std::vector<std::string_view> names;
  for (const NamedType& known : element_types) {
    if (plain_spelling(text) == plain_spelling(known.name)) return storage_format(known.type);
    names.push_back(known.name);
  }
  for (const BlockFormat& known : block_formats) {
    if (text == known.name) return {std::string(text), known.elements, known.bytes};
    names.push_back(known.name);
  }
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    const auto bytes = count_from(text.substr(0, slash));
    const auto elements = count_from(text.substr(slash + 1));
    if (!bytes || !elements || *bytes <= 0 || *elements <= 0) {
      throw InputError("ledger.bad_block_format", where,
                       fmt::format("\"{}\" is not BYTES/ELEMENTS with two positive counts", text));
    }
    return {std::string(text), *elements, *bytes};
  }
  const std::string near = did_you_mean(near_words(text, names));
  throw InputError("ledger.unknown_type", where,
                   fmt::format("\"{}\" is no known element type or block format; {}{}tate its size "
                               "as BYTES/ELEMENTS, such as 34/32",
                               text, near, near.empty() ? "s" : " Or s"));
}

mpz_class row_bytes(const StorageFormat& format, std::int64_t elements, PartialBlock partial,
                    const std::string& where) {
  if (elements % format.block_elements != 0 && partial == PartialBlock::refuse) {
    throw InputError("ledger.partial_block", where,
                     fmt::format("{} elements are not a whole number of {} blocks of {}", elements,
                                 format.name, format.block_elements));
  }
  return divide_up(exact_integer(elements), exact_integer(format.block_elements)) *
         exact_integer(format.block_bytes);
}

}  // namespace gqa
