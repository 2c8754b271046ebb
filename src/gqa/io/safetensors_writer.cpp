#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "gqa/error.hpp"
#include "gqa/io/file.hpp"
#include "gqa/io/json.hpp"
#include "gqa/io/safetensors.hpp"
#include "gqa/io/safetensors_dtype.hpp"

namespace gqa {
namespace {

using Json = nlohmann::json;
using NamedTensor = std::pair<const std::string, TypedTensor>;

void check_tensor(const std::string& name, const TypedTensor& tensor) {
  const std::string where = "tensor " + printable(name);
  if (name == "__metadata__") {
    throw InputError("safetensors.reserved_name", where, "the name is reserved for metadata");
  }
  const auto count = static_cast<std::size_t>(element_count(tensor.shape, where));
  const std::size_t size = element_size(tensor.type);
  if (tensor.bytes.size() % size != 0 || tensor.bytes.size() / size != count) {
    throw InputError("safetensors.size_mismatch", where,
                     fmt::format("has {} bytes, but shape {} of {}", tensor.bytes.size(),
                                 to_text(tensor.shape), safetensors_dtype(tensor.type)));
  }
}

std::vector<const NamedTensor*> in_file_order(const SafetensorsFile& file) {
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& tensor : file.tensors) order.push_back(&tensor);
  // Large elements first: then each starts at a multiple of its own size.
  std::stable_sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
    return element_size(a->second.type) > element_size(b->second.type);
  });
  return order;
}

std::string header_text(const SafetensorsFile& file, const std::vector<const NamedTensor*>& order) {
  Json header = Json::object();
  if (!file.metadata.empty()) header["__metadata__"] = file.metadata;
  std::size_t offset = 0;
  for (const NamedTensor* entry : order) {
    const auto& [name, tensor] = *entry;
    check_tensor(name, tensor);
    const std::size_t end = offset + tensor.bytes.size();
    header[name] = {{"dtype", safetensors_dtype(tensor.type)},
                    {"shape", tensor.shape},
                    {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const Json::type_error&) {
    throw InputError("safetensors.invalid_utf8", "header",
                     "a tensor name or a metadata string is not UTF-8");
  }
  text.append((8 - text.size() % 8) % 8, ' ');
  if (text.size() > max_safetensors_header) {
    throw InputError(
        "safetensors.header_too_large", "header",
        fmt::format("needs {} bytes, more than {}", text.size(), max_safetensors_header));
  }
  return text;
}

}  // namespace

std::vector<std::byte> serialize_safetensors(const SafetensorsFile& file) {
  const std::vector<const NamedTensor*> order = in_file_order(file);
  const std::string header = header_text(file, order);
  std::vector<std::byte> bytes;
  for (unsigned shift = 0; shift < 64; shift += 8) {
    bytes.push_back(static_cast<std::byte>((std::uint64_t{header.size()} >> shift) & 0xff));
  }
  const auto append = [&bytes](std::span<const std::byte> more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
  };
  append(std::as_bytes(std::span(header)));
  for (const NamedTensor* entry : order) append(entry->second.bytes);
  return bytes;
}

void write_safetensors(const std::filesystem::path& path, const SafetensorsFile& file) {
  write_file_atomically(path, serialize_safetensors(file));
}

}  // namespace gqa
