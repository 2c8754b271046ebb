#include "gqa/theory/certificate_fields.hpp"

#include <fmt/format.h>

#include <limits>

#include "gqa/error.hpp"

namespace gqa {
namespace {

using nlohmann::json;

[[noreturn]] void wrong_type(const std::string& where, const char* expected) {
  throw InputError("certificate.field_type", where, fmt::format("is not {}", expected));
}

Rational number_from(const json& value, const std::string& where) {
  if (!value.is_string()) wrong_type(where, "an exact number in a string");
  return parse_rational(value.get_ref<const std::string&>(), where);
}

std::int64_t integer_from(const json& value, const std::string& where) {
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() ||
                     value.get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max());
  if (!fits) wrong_type(where, "an integer of 64 bits");
  return value.get<std::int64_t>();
}

// A non-empty list, each entry read by `read`.
template <class Read>
auto list_from(const json& value, const std::string& where, Read read) {
  if (!value.is_array()) wrong_type(where, "a list");
  if (value.empty()) throw InputError("certificate.shape", where, "is empty");
  std::vector<decltype(read(value[0], where))> list;
  for (std::size_t i = 0; i < value.size(); ++i) {
    list.push_back(read(value[i], fmt::format("{}[{}]", where, i)));
  }
  return list;
}

RationalVector vector_from(const json& value, const std::string& where) {
  return list_from(value, where, number_from);
}

RationalMatrix matrix_from(const json& value, const std::string& where) {
  RationalMatrix rows = list_from(value, where, vector_from);
  for (const RationalVector& row : rows) {
    if (row.size() != rows[0].size()) {
      throw InputError("certificate.shape", where, "has rows of different lengths");
    }
  }
  return rows;
}

}  // namespace

CertificateFields::CertificateFields(const json& object, std::string where)
    : object_(object), where_(std::move(where)) {
  if (!object_.is_object()) wrong_type(where_, "an object");
  where_ += where_.empty() ? "" : ": ";
}

const json& CertificateFields::take(const std::string& field) {
  const auto found = object_.find(field);
  if (found == object_.end()) {
    throw InputError("certificate.missing_field", place(field), "is missing");
  }
  read_.insert(field);
  return *found;
}

std::string CertificateFields::text(const std::string& field) {
  const json& value = take(field);
  if (!value.is_string()) wrong_type(place(field), "a string");
  return value.get<std::string>();
}

std::vector<std::string> CertificateFields::texts(const std::string& field) {
  return list_from(take(field), place(field), [](const json& value, const std::string& where) {
    if (!value.is_string()) wrong_type(where, "a string");
    return value.get<std::string>();
  });
}

bool CertificateFields::flag(const std::string& field) {
  const json& value = take(field);
  if (!value.is_boolean()) wrong_type(place(field), "true or false");
  return value.get<bool>();
}

Rational CertificateFields::number(const std::string& field) {
  return number_from(take(field), place(field));
}

std::int64_t CertificateFields::integer(const std::string& field) {
  return integer_from(take(field), place(field));
}

std::vector<std::int64_t> CertificateFields::integers(const std::string& field) {
  return list_from(take(field), place(field), integer_from);
}

RationalVector CertificateFields::vector(const std::string& field) {
  return vector_from(take(field), place(field));
}

RationalMatrix CertificateFields::matrix(const std::string& field) {
  return matrix_from(take(field), place(field));
}

RationalMatrices CertificateFields::matrices(const std::string& field) {
  RationalMatrices all = list_from(take(field), place(field), matrix_from);
  for (const RationalMatrix& one : all) {
    if (one.size() != all[0].size() || one[0].size() != all[0][0].size()) {
      throw InputError("certificate.shape", place(field), "has matrices of different shapes");
    }
  }
  return all;
}

std::vector<CertificateFields> CertificateFields::objects(const std::string& field) {
  return list_from(take(field), place(field), [](const json& value, const std::string& where) {
    return CertificateFields(value, where);
  });
}

CertificateFields CertificateFields::object(const std::string& field) {
  return {take(field), place(field)};
}

bool CertificateFields::is_null(const std::string& field) {
  return take(field).is_null();
}

void CertificateFields::require_all_read() const {
  for (const auto& [field, value] : object_.items()) {
    if (!read_.contains(field)) {
      throw InputError("certificate.unknown_field", place(field), "is not a field of this kind");
    }
  }
}

}  // namespace gqa
