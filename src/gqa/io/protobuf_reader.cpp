#include "gqa/io/protobuf_reader.hpp"

#include <fmt/format.h>

#include <bit>
#include <utility>

#include "gqa/error.hpp"

namespace gqa {
namespace {

using protozero::pbf_wire_type;

const char* data_of(std::span<const std::byte> bytes) {
  // protozero takes no null pointer, not even for nothing.
  return bytes.empty() ? "" : reinterpret_cast<const char*>(bytes.data());
}

std::span<const std::byte> span_of(const protozero::data_view& view) {
  return {reinterpret_cast<const std::byte*>(view.data()), view.size()};
}

template <class Word>
void append_word(Word word, std::vector<std::byte>& to) {
  for (std::size_t i = 0; i < sizeof(Word); ++i) {
    to.push_back(static_cast<std::byte>(word >> (8 * i)));
  }
}

}  // namespace

ProtobufReader::ProtobufReader(std::span<const std::byte> bytes, std::string where,
                               std::size_t offset)
    : bytes_(bytes),
      where_(std::move(where)),
      offset_(offset),
      reader_(data_of(bytes), bytes.size()),
      field_offset_(offset) {}

std::size_t ProtobufReader::position() const {
  return offset_ + bytes_.size() - reader_.data().size();
}

// Runs a step of protozero and says where it stumbled.
template <class Action>
auto ProtobufReader::guarded(const std::string& name, Action action) {
  try {
    return action();
  } catch (const protozero::exception& error) {
    fail("onnx.syntax", name, error.what());
  }
}

void ProtobufReader::fail(const char* code, const std::string& name,
                          const std::string& reason) const {
  throw InputError(code, name.empty() ? where_ : where(name),
                   fmt::format("at byte {}: {}", field_offset_, reason));
}

void ProtobufReader::fail_unknown() const {
  fail("onnx.unknown_field", "", fmt::format("field number {} is not known here", reader_.tag()));
}

bool ProtobufReader::next() {
  field_offset_ = position();
  return guarded("", [this] { return reader_.next(); });
}

void ProtobufReader::skip() {
  guarded("", [this] { reader_.skip(); });
}

void ProtobufReader::require_wire_type(const std::string& name, pbf_wire_type type) const {
  if (reader_.wire_type() == type) return;
  fail("onnx.wire_type", name,
       fmt::format("field number {} has wire type {}, expected {}", reader_.tag(),
                   static_cast<unsigned>(reader_.wire_type()), static_cast<unsigned>(type)));
}

void ProtobufReader::require_first(const std::string& name) {
  if (!seen_.insert(reader_.tag()).second) {
    fail("onnx.duplicate_field", name, "the field is given twice");
  }
}

std::int64_t ProtobufReader::integer(const std::string& name) {
  require_first(name);
  require_wire_type(name, pbf_wire_type::varint);
  return guarded(name, [this] { return reader_.get_int64(); });
}

float ProtobufReader::binary32(const std::string& name) {
  require_first(name);
  require_wire_type(name, pbf_wire_type::fixed32);
  return std::bit_cast<float>(guarded(name, [this] { return reader_.get_fixed32(); }));
}

std::span<const std::byte> ProtobufReader::view(const std::string& name) {
  require_wire_type(name, pbf_wire_type::length_delimited);
  return span_of(guarded(name, [this] { return reader_.get_view(); }));
}

std::span<const std::byte> ProtobufReader::bytes(const std::string& name) {
  require_first(name);
  return view(name);
}

std::string ProtobufReader::text_element(const std::string& name) {
  const std::span<const std::byte> content = view(name);
  return {data_of(content), content.size()};
}

std::string ProtobufReader::text(const std::string& name) {
  require_first(name);
  return text_element(name);
}

ProtobufReader ProtobufReader::message_element(const std::string& name) {
  const std::span<const std::byte> content = view(name);
  return {content, where(name), position() - content.size()};
}

ProtobufReader ProtobufReader::message(const std::string& name) {
  require_first(name);
  return message_element(name);
}

void ProtobufReader::append_integers(const std::string& name, std::vector<std::int64_t>& to) {
  if (reader_.wire_type() == pbf_wire_type::varint) {
    to.push_back(guarded(name, [this] { return reader_.get_int64(); }));
    return;
  }
  require_wire_type(name, pbf_wire_type::length_delimited);
  guarded(name, [this, &to] {
    for (const std::int64_t value : reader_.get_packed_int64()) to.push_back(value);
  });
}

void ProtobufReader::append_fixed(const std::string& name, std::size_t size,
                                  std::vector<std::byte>& to) {
  const auto single = size == 4 ? pbf_wire_type::fixed32 : pbf_wire_type::fixed64;
  if (reader_.wire_type() == single) {
    guarded(name, [&] {
      if (size == 4) {
        append_word(reader_.get_fixed32(), to);
      } else {
        append_word(reader_.get_fixed64(), to);
      }
    });
    return;
  }
  const std::span<const std::byte> packed = view(name);
  if (packed.size() % size != 0) {
    fail("onnx.syntax", name,
         fmt::format("{} bytes are no whole number of elements of {}", packed.size(), size));
  }
  to.insert(to.end(), packed.begin(), packed.end());
}

}  // namespace gqa
