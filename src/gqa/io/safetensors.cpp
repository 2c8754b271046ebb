#include "gqa/io/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "gqa/error.hpp"
#include "gqa/io/file.hpp"
#include "gqa/io/json.hpp"
#include "gqa/io/safetensors_dtype.hpp"

namespace gqa {
namespace {

using Json = nlohmann::json;

constexpr std::size_t length_field = 8;
constexpr std::string_view metadata_key = "__metadata__";

// What the header says about one tensor; offsets count from the end of the header.
struct HeaderEntry {
  std::string name;
  std::string where;
  ElementType type;
  Shape shape;
  std::uint64_t begin;
  std::uint64_t end;
};

std::uint64_t read_header_length(std::span<const std::byte> bytes, const std::string& where) {
  if (bytes.size() < length_field) {
    throw InputError(
        "safetensors.truncated", where,
        fmt::format("has {} bytes, too few for the 8-byte header length at byte 0", bytes.size()));
  }
  std::uint64_t length = 0;
  for (std::size_t i = length_field; i-- > 0;) {
    length = (length << 8) | std::to_integer<std::uint64_t>(bytes[i]);
  }
  if (length > max_safetensors_header) {
    throw InputError("safetensors.header_too_large", where,
                     fmt::format("the header length at byte 0 is {}, more than {}", length,
                                 max_safetensors_header));
  }
  if (length > bytes.size() - length_field) {
    throw InputError("safetensors.truncated", where,
                     fmt::format("the header should end at byte {}, the file ends at byte {}",
                                 length + length_field, bytes.size()));
  }
  return length;
}

Json parse_header(std::string_view text, const std::string& where) {
  if (!text.starts_with('{')) {
    throw InputError("safetensors.syntax", where, "at byte 0: the header must start with '{'");
  }
  const std::size_t last = text.find_last_not_of(' ');
  if (text[last] != '}') {
    throw InputError(
        "safetensors.syntax", where,
        fmt::format("at byte {}: the header must end with '}}' and spaces only", last));
  }
  try {
    return parse_json_strictly(text.substr(0, last + 1), where);
  } catch (const InputError& error) {
    // "json.syntax" -> "safetensors.syntax"
    throw InputError("safetensors" + error.code().substr(error.code().find('.')), error.where(),
                     error.message());
  }
}

std::map<std::string, std::string> read_metadata(const Json& value, const std::string& where) {
  const auto require = [&where](bool holds, const std::string& what) {
    if (!holds) {
      throw InputError("safetensors.bad_metadata", where,
                       what + ", expected strings that map to strings");
    }
  };
  require(value.is_object(), fmt::format("is of type {}", value.type_name()));
  std::map<std::string, std::string> metadata;
  for (const auto& [key, text] : value.items()) {
    require(text.is_string(),
            fmt::format("\"{}\" maps to a value of type {}", printable(key), text.type_name()));
    metadata.emplace(key, text.get<std::string>());
  }
  return metadata;
}

// A list of integers in [0, 2^63).
std::vector<std::int64_t> read_integers(const Json& value, const std::string& where) {
  const auto fail = [&](const Json& found) {
    throw InputError("safetensors.bad_field", where,
                     fmt::format("{} is not expected here: write a list of integers from 0 to "
                                 "2^63 - 1",
                                 printable(found.dump(-1, ' ', true))));
  };
  if (!value.is_array()) fail(value);
  std::vector<std::int64_t> integers;
  for (const Json& element : value) {
    // Negative zero and negative numbers are signed to the parser, 1.0 is a float.
    constexpr auto limit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (!element.is_number_unsigned() || element.get<std::uint64_t>() > limit) fail(element);
    integers.push_back(element.get<std::int64_t>());
  }
  return integers;
}

ElementType read_dtype(const Json& value, const std::string& where) {
  if (!value.is_string()) {
    throw InputError("safetensors.bad_field", where,
                     fmt::format("is of type {}, expected a string", value.type_name()));
  }
  const auto& dtype = value.get_ref<const std::string&>();
  const std::optional<ElementType> type = element_type_from_safetensors(dtype);
  if (!type) {
    throw InputError("safetensors.unknown_dtype", where,
                     fmt::format("\"{}\" is not a supported dtype ({})", printable(dtype),
                                 supported_safetensors_dtypes()));
  }
  return *type;
}

void check_field_names(const Json& value, const std::string& where) {
  constexpr std::array<const char*, 3> fields{"dtype", "shape", "data_offsets"};
  if (!value.is_object()) {
    throw InputError("safetensors.bad_field", where,
                     fmt::format("is of type {}, expected an object with dtype, shape and "
                                 "data_offsets",
                                 value.type_name()));
  }
  for (const char* field : fields) {
    if (!value.contains(field)) {
      throw InputError("safetensors.missing_field", fmt::format("{}: {}", where, field),
                       "the field is missing");
    }
  }
  for (const auto& [field, unused] : value.items()) {
    if (std::find(fields.begin(), fields.end(), field) == fields.end()) {
      throw InputError("safetensors.unknown_field", fmt::format("{}: {}", where, printable(field)),
                       "is not one of dtype, shape and data_offsets");
    }
  }
}

std::uint64_t checked_element_count(const Shape& shape, const std::string& where) {
  try {
    return static_cast<std::uint64_t>(element_count(shape, where));
  } catch (const InputError& error) {
    throw InputError("safetensors.too_large", error.where(), error.message());
  }
}

HeaderEntry read_entry(const std::string& name, const Json& value, const std::string& file) {
  const std::string where = fmt::format("{}: tensor {}", file, printable(name));
  check_field_names(value, where);
  const ElementType type = read_dtype(value["dtype"], where + ": dtype");
  Shape shape = read_integers(value["shape"], where + ": shape");
  const std::uint64_t count = checked_element_count(shape, where + ": shape");
  const std::string offsets_where = where + ": data_offsets";
  const std::vector<std::int64_t> offsets = read_integers(value["data_offsets"], offsets_where);
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    throw InputError("safetensors.bad_field", offsets_where,
                     fmt::format("{} is not [begin, end] with begin <= end", to_text(offsets)));
  }
  const auto begin = static_cast<std::uint64_t>(offsets[0]);
  const auto end = static_cast<std::uint64_t>(offsets[1]);
  // Divided, because count * size could overflow.
  const std::uint64_t size = element_size(type);
  if ((end - begin) % size != 0 || (end - begin) / size != count) {
    throw InputError(
        "safetensors.size_mismatch", offsets_where,
        fmt::format("{} spans {} bytes, but shape {} of {} has {} elements of {}", to_text(offsets),
                    end - begin, to_text(shape), safetensors_dtype(type), count, size));
  }
  return {name, where, type, std::move(shape), begin, end};
}

// Every byte of the buffer must belong to exactly one tensor.
void check_layout(std::vector<HeaderEntry>& entries, std::uint64_t buffer_size,
                  std::uint64_t buffer_start, const std::string& where) {
  std::sort(entries.begin(), entries.end(), [](const HeaderEntry& a, const HeaderEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  const auto hole = [&](const std::string& place, std::uint64_t begin, std::uint64_t end) {
    throw InputError("safetensors.hole", place,
                     fmt::format("bytes {} to {} of the file belong to no tensor",
                                 buffer_start + begin, buffer_start + end));
  };
  std::uint64_t covered = 0;
  for (const HeaderEntry& entry : entries) {
    const std::string place = entry.where + ": data_offsets";
    if (entry.end > buffer_size) {
      throw InputError("safetensors.truncated", place,
                       fmt::format("the tensor ends at byte {}, the file at byte {}",
                                   buffer_start + entry.end, buffer_start + buffer_size));
    }
    if (entry.begin > covered) hole(place, covered, entry.begin);
    if (entry.begin < covered) {
      throw InputError("safetensors.overlap", place,
                       fmt::format("the tensor starts at byte {}, inside another that ends at "
                                   "byte {}",
                                   buffer_start + entry.begin, buffer_start + covered));
    }
    covered = entry.end;
  }
  if (covered < buffer_size) hole(where, covered, buffer_size);
}

}  // namespace

SafetensorsFile parse_safetensors(std::span<const std::byte> bytes, const std::string& where) {
  const std::size_t header_length = read_header_length(bytes, where);
  const std::span<const std::byte> header_bytes = bytes.subspan(length_field, header_length);
  const Json header =
      parse_header({reinterpret_cast<const char*>(header_bytes.data()), header_bytes.size()},
                   where + ": header");
  SafetensorsFile file;
  std::vector<HeaderEntry> entries;
  for (const auto& [name, value] : header.items()) {
    if (name == metadata_key) {
      file.metadata = read_metadata(value, fmt::format("{}: {}", where, metadata_key));
    } else {
      entries.push_back(read_entry(name, value, where));
    }
  }
  const std::span<const std::byte> buffer = bytes.subspan(length_field + header_length);
  check_layout(entries, buffer.size(), length_field + header_length, where);
  for (HeaderEntry& entry : entries) {
    const auto data = buffer.subspan(entry.begin, entry.end - entry.begin);
    file.tensors.emplace(
        std::move(entry.name),
        TypedTensor{entry.type, std::move(entry.shape), {data.begin(), data.end()}});
  }
  return file;
}

SafetensorsFile read_safetensors(const std::filesystem::path& path) {
  return parse_safetensors(read_file(path), path.string());
}

}  // namespace gqa
