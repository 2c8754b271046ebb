#include "gqa/theory/exact_input.hpp"

#include <fmt/format.h>

#include "gqa/error.hpp"
#include "gqa/exact/json_fields.hpp"

namespace gqa {
namespace {

Rational number_from_json(const nlohmann::json& value, const std::string& where) {
  if (value.is_number_integer()) return parse_rational(value.dump(), where);
  return parse_rational(fixture_reader.text(value, where), where);
}

// Calls `visit` with every part between separators; an empty text is one empty part.
template <class Visit>
void split(std::string_view text, char separator, Visit visit) {
  while (true) {
    const std::size_t end = text.find(separator);
    visit(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

RationalVector parse_vector(std::string_view text, const std::string& where) {
  RationalVector numbers;
  split(text, ',', [&](std::string_view part) {
    numbers.push_back(parse_rational(part, fmt::format("{}[{}]", where, numbers.size())));
  });
  return numbers;
}

RationalMatrix parse_matrix(std::string_view text, const std::string& where) {
  RationalMatrix rows;
  split(text, ';', [&](std::string_view part) {
    const std::string place = fmt::format("{}[{}]", where, rows.size());
    rows.push_back(parse_vector(part, place));
    if (rows.back().size() != rows[0].size()) {
      throw InputError("exact_input.ragged", place,
                       fmt::format("has {} number{}, the first row has {}", rows.back().size(),
                                   rows.back().size() == 1 ? "" : "s", rows[0].size()));
    }
  });
  return rows;
}

Tensor<Rational> tensor_from_json(const nlohmann::json& value, std::size_t rank,
                                  const std::string& where) {
  return nested_tensor<Rational>(value, rank, where, number_from_json);
}

RationalVector to_vector(const Tensor<Rational>& tensor) {
  return tensor.data();
}

RationalMatrix to_matrix(const Tensor<Rational>& tensor) {
  const auto width = tensor.shape().back();
  RationalMatrix rows;
  for (auto from = tensor.data().begin(); from != tensor.data().end(); from += width) {
    rows.emplace_back(from, from + width);
  }
  return rows;
}

RationalMatrices to_matrices(const Tensor<Rational>& tensor) {
  const RationalMatrix rows = to_matrix(tensor);
  const auto height = tensor.shape()[tensor.shape().size() - 2];
  RationalMatrices matrices;
  for (auto from = rows.begin(); from != rows.end(); from += height) {
    matrices.emplace_back(from, from + height);
  }
  return matrices;
}

}  // namespace gqa
