#include "gqa/io/onnx_tensor.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "gqa/error.hpp"
#include "gqa/io/file.hpp"
#include "gqa/io/json.hpp"
#include "gqa/io/protobuf_reader.hpp"

namespace gqa {
namespace {

// The typed field that holds a type's elements where raw_data does not.
enum class DataField { float_data, int32_data, int64_data, double_data };

struct DataType {
  std::int64_t code;
  ElementType type;
  DataField field;
  // The values of int32_data that an element can hold: bit patterns for small floats.
  std::int64_t smallest = 0;
  std::int64_t largest = 0;
};

constexpr std::int64_t int32_min = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t int32_max = std::numeric_limits<std::int32_t>::max();

constexpr std::array<DataType, 11> data_types{{
    {1, ElementType::binary32, DataField::float_data},
    {2, ElementType::uint8, DataField::int32_data, 0, 255},
    {3, ElementType::int8, DataField::int32_data, -128, 127},
    {6, ElementType::int32, DataField::int32_data, int32_min, int32_max},
    {7, ElementType::int64, DataField::int64_data},
    {9, ElementType::boolean, DataField::int32_data, 0, 1},
    {10, ElementType::binary16, DataField::int32_data, 0, 0xffff},
    {11, ElementType::binary64, DataField::double_data},
    {16, ElementType::bfloat16, DataField::int32_data, 0, 0xffff},
    {17, ElementType::float8_e4m3fn, DataField::int32_data, 0, 0xff},
    {19, ElementType::float8_e5m2, DataField::int32_data, 0, 0xff},
}};

std::string_view name_of(DataField field) {
  constexpr std::array<std::string_view, 4> names{"float_data", "int32_data", "int64_data",
                                                  "double_data"};
  return names.at(static_cast<std::size_t>(field));
}

// The fields of a TensorProto as they are in the file.
struct Fields {
  std::string where;
  std::string name;
  std::vector<std::int64_t> dims;
  std::optional<std::int64_t> data_type;
  std::optional<std::span<const std::byte>> raw_data;
  std::optional<DataField> typed;  // which of the four below is there
  std::vector<std::int64_t> integers;
  std::vector<std::byte> fixed;
};

std::string external_location(ProtobufReader entry) {
  std::string key;
  std::string value;
  while (entry.next()) {
    if (entry.field() == 1) {
      key = entry.text("key");
    } else if (entry.field() == 2) {
      value = entry.text("value");
    } else {
      entry.fail_unknown();
    }
  }
  return printable(key) + " = " + printable(value);
}

void read_typed_data(ProtobufReader& message, DataField field, Fields& fields) {
  const std::string name(name_of(field));
  if (fields.typed && *fields.typed != field) {
    message.fail("onnx.two_data_fields", name,
                 fmt::format("{} holds data already", name_of(*fields.typed)));
  }
  fields.typed = field;
  switch (field) {
    case DataField::float_data:
      return message.append_fixed(name, sizeof(float), fields.fixed);
    case DataField::double_data:
      return message.append_fixed(name, sizeof(double), fields.fixed);
    case DataField::int32_data:
    case DataField::int64_data:
      return message.append_integers(name, fields.integers);
  }
}

void read_field(ProtobufReader& message, Fields& fields) {
  switch (message.field()) {
    case 1:
      return message.append_integers("dims", fields.dims);
    case 2:
      fields.data_type = message.integer("data_type");
      return;
    case 3:
      message.fail("onnx.segment", "segment", "tensors in segments are not supported");
    case 4:
      return read_typed_data(message, DataField::float_data, fields);
    case 5:
      return read_typed_data(message, DataField::int32_data, fields);
    case 7:
      return read_typed_data(message, DataField::int64_data, fields);
    case 8:
      fields.name = message.text("name");
      return;
    case 9:
      fields.raw_data = message.bytes("raw_data");
      return;
    case 10:
      return read_typed_data(message, DataField::double_data, fields);
    case 12:  // doc_string
    case 16:  // metadata_props
      return message.skip();
    case 13: {
      const std::string location = external_location(message.message_element("external_data"));
      message.fail("onnx.external_data", "external_data",
                   fmt::format("the data lies in another file ({})", location));
    }
    case 14:
      if (message.integer("data_location") == 0) return;
      message.fail("onnx.external_data", "data_location", "the data lies in another file");
    default:
      message.fail_unknown();  // string_data and uint64_data too: no supported type uses them
  }
}

Fields read_fields(ProtobufReader& message) {
  Fields fields;
  fields.where = message.where();
  while (message.next()) read_field(message, fields);
  return fields;
}

const DataType& data_type_of(const Fields& fields) {
  const std::string where = fields.where + ": data_type";
  if (!fields.data_type) throw InputError("onnx.missing_field", where, "the field is missing");
  for (const DataType& type : data_types) {
    if (type.code == *fields.data_type) return type;
  }
  throw InputError("onnx.unsupported_type", where,
                   fmt::format("{} is not one of FLOAT (1), UINT8 (2), INT8 (3), INT32 (6), INT64 "
                               "(7), BOOL (9), FLOAT16 (10), DOUBLE (11), BFLOAT16 (16), "
                               "FLOAT8E4M3FN (17), FLOAT8E5M2 (19)",
                               *fields.data_type));
}

std::uint64_t count_of(const Fields& fields) {
  try {
    return static_cast<std::uint64_t>(element_count(fields.dims, fields.where + ": dims"));
  } catch (const InputError& error) {
    // "tensor.too_large" -> "onnx.too_large"
    throw InputError("onnx" + error.code().substr(error.code().find('.')), error.where(),
                     error.message());
  }
}

std::vector<std::byte> encode_integers(const Fields& fields, const DataType& type) {
  const std::size_t size = element_size(type.type);
  std::vector<std::byte> bytes;
  bytes.reserve(fields.integers.size() * size);
  for (std::size_t i = 0; i < fields.integers.size(); ++i) {
    const std::int64_t value = fields.integers[i];
    if (type.field == DataField::int32_data && (value < type.smallest || value > type.largest)) {
      throw InputError("onnx.value_out_of_range", fields.where + ": int32_data",
                       fmt::format("element {} is {}; {} allows {} to {}", i, value,
                                   name(type.type), type.smallest, type.largest));
    }
    for (std::size_t byte = 0; byte < size; ++byte) {
      bytes.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * byte)));
    }
  }
  return bytes;
}

std::vector<std::byte> data_of(Fields& fields, const DataType& type) {
  if (fields.raw_data && fields.typed) {
    throw InputError("onnx.two_data_fields", fields.where + ": raw_data",
                     fmt::format("{} holds data too", name_of(*fields.typed)));
  }
  if (fields.raw_data) return {fields.raw_data->begin(), fields.raw_data->end()};
  if (!fields.typed) return {};
  if (*fields.typed != type.field) {
    throw InputError(
        "onnx.wrong_data_field", fmt::format("{}: {}", fields.where, name_of(*fields.typed)),
        fmt::format("data of type {} belongs into {}", name(type.type), name_of(type.field)));
  }
  const bool fixed = type.field == DataField::float_data || type.field == DataField::double_data;
  return fixed ? std::move(fields.fixed) : encode_integers(fields, type);
}

}  // namespace

OnnxTensor parse_onnx_tensor(ProtobufReader message) {
  Fields fields = read_fields(message);
  const DataType& type = data_type_of(fields);
  const std::uint64_t count = count_of(fields);
  std::vector<std::byte> bytes = data_of(fields, type);
  // Divided, because count * size could overflow.
  const std::uint64_t size = element_size(type.type);
  if (bytes.size() % size != 0 || bytes.size() / size != count) {
    throw InputError(
        "onnx.size_mismatch", fields.where,
        fmt::format("dims {} of {} have {} elements of {} bytes, the data has {} bytes",
                    to_text(fields.dims), name(type.type), count, size, bytes.size()));
  }
  return {std::move(fields.name), {type.type, std::move(fields.dims), std::move(bytes)}};
}

OnnxTensor parse_onnx_tensor(std::span<const std::byte> bytes, const std::string& where) {
  return parse_onnx_tensor(ProtobufReader(bytes, where));
}

OnnxTensor read_onnx_tensor(const std::filesystem::path& path) {
  return parse_onnx_tensor(read_file(path), path.string());
}

}  // namespace gqa
