// Protocol Buffers messages read strictly, with the place of every error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <protozero/pbf_reader.hpp>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace gqa {

/// One message, field by field. Names of fields are given by the caller, who knows the
/// schema; they and the byte offset in the file go into errors.
///
/// Errors of all members: InputError at `where` or `where: FIELD`, with code
/// - "onnx.syntax": the bytes are not a message
/// - "onnx.wire_type": a field is encoded as another type than the schema's
/// - "onnx.duplicate_field": a field that may be there once is there twice
/// - "onnx.unknown_field"
///
/// Source: the Protocol Buffers encoding guide. The work is done by protozero.
class ProtobufReader {
 public:
  /// `bytes` must outlive the reader; `offset` is where they lie in the file.
  ProtobufReader(std::span<const std::byte> bytes, std::string where, std::size_t offset = 0);

  /// Goes to the next field; false at the end. The field before must have been read.
  bool next();
  std::uint32_t field() const { return reader_.tag(); }
  const std::string& where() const { return where_; }
  /// "where: NAME"
  std::string where(const std::string& name) const { return where_ + ": " + name; }
  /// Where the current field starts in the file.
  std::size_t offset() const { return field_offset_; }

  // Fields that may be there once.
  std::int64_t integer(const std::string& name);
  float binary32(const std::string& name);
  std::string text(const std::string& name);
  std::span<const std::byte> bytes(const std::string& name);
  ProtobufReader message(const std::string& name);

  // Repeated fields; scalars packed or not, as both are valid.
  std::string text_element(const std::string& name);
  ProtobufReader message_element(const std::string& name);
  void append_integers(const std::string& name, std::vector<std::int64_t>& to);
  /// Little-endian elements of 4 or 8 bytes: float, double.
  void append_fixed(const std::string& name, std::size_t size, std::vector<std::byte>& to);

  void skip();
  [[noreturn]] void fail_unknown() const;
  [[noreturn]] void fail(const char* code, const std::string& name,
                         const std::string& reason) const;

 private:
  template <class Action>
  auto guarded(const std::string& name, Action action);
  void require_wire_type(const std::string& name, protozero::pbf_wire_type type) const;
  void require_first(const std::string& name);
  std::span<const std::byte> view(const std::string& name);
  std::size_t position() const;

  std::span<const std::byte> bytes_;
  std::string where_;
  std::size_t offset_;
  protozero::pbf_reader reader_;
  std::size_t field_offset_;
  std::set<std::uint32_t> seen_;
};

}  // namespace gqa
