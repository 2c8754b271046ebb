#include "gqa/theory/layer_declaration.hpp"

#include <fmt/format.h>

#include "gqa/error.hpp"
#include "gqa/exact/json_fields.hpp"
#include "gqa/theory/exact_input.hpp"

namespace gqa {
namespace {

using nlohmann::json;

std::string text_of(const json& object, const char* field, const std::string& where) {
  if (object.at(field).is_string()) return object.at(field).get<std::string>();
  throw InputError("fixture.field_type", where + ": " + field, "is not a string");
}

std::size_t rotary_size(const json& rotary, std::size_t key_size, const std::string& where) {
  if (!rotary.contains("size")) return key_size;
  const json& size = rotary.at("size");
  const bool fits = size.is_number_unsigned() && size.get<std::uint64_t>() <= key_size;
  if (fits) return size.get<std::size_t>();
  throw InputError("layer.rotary", where + ": size",
                   fmt::format("is no number of coordinates up to {}", key_size));
}

std::vector<std::pair<std::size_t, std::size_t>> planes_of(const json& rotary, std::size_t key_size,
                                                           const std::string& where) {
  const std::size_t size = rotary_size(rotary, key_size, where);
  if (size == 0 || size % 2 != 0) {
    throw InputError("layer.rotary", where + ": size",
                     fmt::format("{} coordinates make no planes", size));
  }
  const std::string pairs =
      rotary.contains("pairs") ? text_of(rotary, "pairs", where) : std::string("halves");
  if (pairs != "halves" && pairs != "adjacent") {
    throw InputError("layer.rotary", where + ": pairs", "is neither \"halves\" nor \"adjacent\"");
  }
  std::vector<std::pair<std::size_t, std::size_t>> planes;
  for (std::size_t p = 0; p < size / 2; ++p) {
    if (pairs == "halves") {
      planes.emplace_back(p, p + size / 2);
    } else {
      planes.emplace_back(2 * p, 2 * p + 1);
    }
  }
  return planes;
}

RationalMatrix rotations_of(const json& list, std::size_t planes, const std::string& where) {
  const RationalMatrix rotations = to_matrix(tensor_from_json(list, 2, where));
  if (!has_shape(rotations, planes, 2)) {
    throw InputError("layer.rotary", where,
                     fmt::format("is not a cosine and a sine of {} planes", planes));
  }
  for (std::size_t p = 0; p < planes; ++p) {
    if (dot(rotations[p], rotations[p]) == 1) continue;
    throw InputError("layer.rotation", fmt::format("{}[{}]", where, p),
                     "the squares of cosine and sine do not add up to 1");
  }
  return rotations;
}

RotaryDeclaration rotary_of(const json& rotary, std::size_t key_size, const std::string& where) {
  fixture_reader.require_known(rotary, {"pairs", "size", "rotations", "angles"}, where,
                               fixture_format);
  RotaryDeclaration declared;
  declared.planes = planes_of(rotary, key_size, where);
  const bool stated = rotary.contains("rotations");
  if (stated == rotary.contains("angles") ||
      (!stated && text_of(rotary, "angles", where) != "distinct")) {
    throw InputError("layer.rotary", where, "needs \"rotations\", or \"angles\": \"distinct\"");
  }
  if (stated) {
    declared.rotations =
        rotations_of(rotary.at("rotations"), declared.planes.size(), where + ": rotations");
  }
  return declared;
}

std::optional<RationalVector> norm_of(const json& layer, const char* field, std::size_t key_size,
                                      const std::string& where) {
  if (!layer.contains(field)) return std::nullopt;
  const std::string place = where + ": " + field;
  RationalVector factors = to_vector(tensor_from_json(layer.at(field), 1, place));
  if (factors.size() != key_size) {
    throw InputError("layer.norm", place, fmt::format("has not {} factors", key_size));
  }
  return factors;
}

}  // namespace

RationalVector LayerDeclaration::turned(RationalVector vector, long positions) const {
  if (!rotary || !rotary->rotations) return vector;
  for (std::size_t p = 0; p < rotary->planes.size(); ++p) {
    const Rational& cosine = (*rotary->rotations)[p][0];
    const Rational& sine = (*rotary->rotations)[p][1];
    Rational &x = vector[rotary->planes[p].first], &y = vector[rotary->planes[p].second];
    for (long k = 0; k < positions; ++k) {
      const Rational first(cosine * x - sine * y);
      y = sine * x + cosine * y;
      x = first;
    }
  }
  return vector;
}

std::vector<std::vector<std::size_t>> LayerDeclaration::parts(std::size_t key_size) const {
  std::vector<std::vector<std::size_t>> parts;
  std::vector<bool> turning(key_size);
  if (rotary) {
    for (const auto& [a, b] : rotary->planes) {
      parts.push_back({a, b});
      turning[a] = turning[b] = true;
    }
  }
  parts.emplace_back();
  for (std::size_t c = 0; c < key_size; ++c) {
    if (!turning[c]) parts.back().push_back(c);
  }
  return parts;
}

LayerDeclaration layer_from_json(const json& layer, std::size_t key_size,
                                 const std::string& where) {
  if (!layer.is_object()) throw InputError("fixture.field_type", where, "is not an object");
  fixture_reader.require_known(layer, {"rotary", "query_norm", "key_norm", "norm_epsilon"}, where,
                               fixture_format);
  LayerDeclaration declared;
  if (layer.contains("rotary")) {
    declared.rotary = rotary_of(layer.at("rotary"), key_size, where + ": rotary");
  }
  declared.query_norm = norm_of(layer, "query_norm", key_size, where);
  declared.key_norm = norm_of(layer, "key_norm", key_size, where);
  const bool normalised = declared.query_norm || declared.key_norm;
  if (normalised != layer.contains("norm_epsilon")) {
    throw InputError("layer.norm", where + ": norm_epsilon",
                     normalised ? "is missing" : "belongs to no normalisation");
  }
  if (!normalised) return declared;
  const json as_list = json::array({layer.at("norm_epsilon")});
  declared.norm_epsilon = to_vector(tensor_from_json(as_list, 1, where + ": norm_epsilon"))[0];
  if (*declared.norm_epsilon <= 0) {
    throw InputError("layer.norm", where + ": norm_epsilon", "is not above 0");
  }
  return declared;
}

}  // namespace gqa
