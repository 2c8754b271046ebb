#include "gqa/theory/certificate_rules/score_layer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "gqa/theory/certificate_rules/arithmetic.hpp"

namespace gqa::certificate_rules {
namespace {

std::optional<RationalMatrix> matrix_or_null(CertificateFields& fields, const char* name) {
  if (fields.is_null(name)) return std::nullopt;
  return fields.matrix(name);
}

std::optional<RationalVector> vector_or_null(CertificateFields& fields, const char* name) {
  if (fields.is_null(name)) return std::nullopt;
  return fields.vector(name);
}

void read_planes(CertificateFields& fields, ScoreLayer& layer) {
  layer.rotations = matrix_or_null(fields, "rotations");
  if (fields.is_null("planes")) {
    require(!layer.rotations, "there are rotations of no plane");
    return;
  }
  const std::vector<std::int64_t> flat = fields.integers("planes");
  require(flat.size() % 2 == 0, "a plane has one coordinate");
  std::set<std::int64_t> distinct;
  for (std::size_t i = 0; i < flat.size(); i += 2) {
    require(flat[i] >= 0 && flat[i + 1] >= 0, "a coordinate is negative");
    require(distinct.insert(flat[i]).second && distinct.insert(flat[i + 1]).second,
            "a coordinate is in two planes");
    layer.planes.emplace_back(flat[i], flat[i + 1]);
  }
  if (!layer.rotations) return;
  require(layer.rotations->size() == layer.planes.size(), "there are not as many rotations");
  for (const RationalVector& rotation : *layer.rotations) {
    require(rotation.size() == 2 && dot(rotation, rotation) == 1, "a rotation is none");
  }
}

}  // namespace

ScoreLayer read_score_layer(CertificateFields& all) {
  ScoreLayer layer;
  if (all.is_null("layer")) return layer;
  CertificateFields fields = all.object("layer");
  layer.declared = true;
  read_planes(fields, layer);
  layer.query_biases = matrix_or_null(fields, "query_biases");
  layer.key_biases = matrix_or_null(fields, "key_biases");
  layer.value_biases = matrix_or_null(fields, "value_biases");
  layer.query_norm = vector_or_null(fields, "query_norm");
  layer.key_norm = vector_or_null(fields, "key_norm");
  const bool normalised = layer.query_norm || layer.key_norm;
  require(normalised != fields.is_null("norm_epsilon"), "norm_epsilon does not fit the layer");
  if (normalised) {
    layer.norm_epsilon = fields.number("norm_epsilon");
    require(layer.norm_epsilon > 0, "norm_epsilon is not positive");
  }
  require(!layer.key_norm || !layer.key_biases, "normalised keys have biases");
  fields.require_all_read();
  return layer;
}

void require_fits(const ScoreLayer& layer, std::size_t heads, std::size_t key_size) {
  for (const auto& [a, b] : layer.planes) {
    require(a < key_size && b < key_size, "a plane lies outside the keys");
  }
  for (const auto& biases : {layer.query_biases, layer.key_biases}) {
    require(!biases || (biases->size() == heads && (*biases)[0].size() == key_size),
            "biases do not fit the keys");
  }
  for (const auto& norm : {layer.query_norm, layer.key_norm}) {
    require(!norm || norm->size() == key_size, "a normalisation does not fit the keys");
  }
}

RationalVector ScoreLayer::turned(RationalVector vector, std::int64_t positions) const {
  for (std::size_t p = 0; p < planes.size(); ++p) {
    const Rational cosine = (*rotations)[p][0];
    const Rational sine = positions < 0 ? Rational(-(*rotations)[p][1]) : (*rotations)[p][1];
    Rational &x = vector[planes[p].first], &y = vector[planes[p].second];
    for (std::int64_t k = 0; k < std::abs(positions); ++k) {
      const Rational turned_x = cosine * x - sine * y;
      y = sine * x + cosine * y;
      x = turned_x;
      CheckWork::spend_on(x);
    }
  }
  return vector;
}

std::vector<std::size_t> ScoreLayer::coordinates_at_rest(std::size_t size) const {
  std::set<std::size_t> turning;
  for (const auto& [a, b] : planes) {
    turning.insert(a);
    turning.insert(b);
  }
  std::vector<std::size_t> rest;
  for (std::size_t c = 0; c < size; ++c) {
    if (!turning.contains(c)) rest.push_back(c);
  }
  return rest;
}

std::string ScoreLayer::words() const {
  std::vector<std::string> with, without;
  if (planes.empty()) {
    without.emplace_back("rotary embedding");
  } else {
    with.push_back(fmt::format("rotary embedding of {} plane{} by {}", planes.size(),
                               planes.size() == 1 ? "" : "s",
                               rotations ? "the stated rotations" : "distinct angles"));
  }
  (query_biases || key_biases || value_biases ? with : without).emplace_back("biases");
  std::string norm = "normalisation between projection and scores";
  if (query_norm && key_norm) norm = "normalised queries and keys";
  if (query_norm && !key_norm) norm = "normalised queries, not keys";
  if (!query_norm && key_norm) norm = "normalised keys, not queries";
  (query_norm || key_norm ? with : without).push_back(norm);
  const auto joined = [](const std::vector<std::string>& words, const char* last) {
    if (words.size() < 2) return fmt::format("{}", fmt::join(words, ""));
    return fmt::format("{}{}{}", fmt::join(words.begin(), words.end() - 1, ", "), last,
                       words.back());
  };
  std::string text = "layers";
  if (!with.empty()) text += " with " + joined(with, " and ");
  if (!without.empty())
    text += (with.empty() ? " without " : ", without ") + joined(without, " or ");
  return text;
}

}  // namespace gqa::certificate_rules
