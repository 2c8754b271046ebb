// Reads what a fixture says of other layers, moved positions, merged parts, tiles and gradients.
#include <fmt/format.h>

#include <optional>

#include "gqa/exact/fixture_fields.hpp"
#include "gqa/exact/json_fields.hpp"

namespace gqa {
namespace {

using nlohmann::json;

Tensor<Rational> number_field(const json& object, const char* field, const std::string& where,
                              const Shape& expected) {
  const std::string place = where + ": " + field;
  auto tensor = nested_tensor<Rational>(fixture_reader.required(object, field, where), 4, place,
                                        exact_number);
  require_shape(tensor.shape(), expected, place);
  return tensor;
}

std::vector<std::int64_t> read_splits(const json& value, std::int64_t keys) {
  const std::string where = "merged: splits";
  std::vector<std::int64_t> splits = fixture_reader.integers(value, where);
  std::int64_t before = 0;
  for (const std::int64_t split : splits) {
    if (split <= before || split >= keys) {
      throw InputError(
          "fixture.splits", where,
          fmt::format("{} does not lie above {} and below the {} keys", split, before, keys));
    }
    before = split;
  }
  if (splits.empty()) throw InputError("fixture.splits", where, "one part is nothing to merge");
  return splits;
}

// [parts][B][Hq][T] or, with a width, [parts][B][Hq][T][width].
std::vector<Tensor<Rational>> read_parts(const json& entry, const char* field, std::size_t parts,
                                         Shape rows, std::optional<std::int64_t> width) {
  const std::string where = std::string("merged: ") + field;
  const json& list = fixture_reader.list(fixture_reader.required(entry, field, "merged"), where);
  if (list.size() != parts) {
    throw InputError("contract.shape_mismatch", where,
                     fmt::format("{} entries for {} parts", list.size(), parts));
  }
  if (width) rows.push_back(*width);
  std::vector<Tensor<Rational>> tensors;
  for (const json& part : list) {
    auto tensor = nested_tensor<Rational>(part, rows.size(), where, exact_number);
    require_shape(tensor.shape(), rows, where);
    Shape shape = rows;
    if (!width) shape.push_back(1);
    tensors.emplace_back(std::move(shape), std::move(tensor.data()));
  }
  return tensors;
}

void read_merges(const json& document, const Dimensions& d, Fixture& fixture) {
  if (document.contains("merged")) {
    const json& list = fixture_reader.list(document["merged"], "merged");
    for (const json& entry : list) {
      fixture_reader.require_known(entry, {"splits", "outputs", "shares"}, "merged",
                                   fixture_format);
      MergeExpectation merge;
      merge.splits = read_splits(fixture_reader.required(entry, "splits", "merged"), d.keys);
      const Shape rows{d.batch, d.q_heads, d.queries};
      const std::size_t parts = merge.splits.size() + 1;
      merge.outputs = read_parts(entry, "outputs", parts, rows, d.value_size);
      merge.shares = read_parts(entry, "shares", parts, rows, std::nullopt);
      fixture.merged.push_back(std::move(merge));
    }
  }
  const char* tiles = "online_softmax_tile_sizes";
  if (!document.contains(tiles)) return;
  fixture.tile_sizes = fixture_reader.integers(document[tiles], tiles);
  for (const std::int64_t size : fixture.tile_sizes) {
    if (size < 1) throw InputError("fixture.tile_size", tiles, fmt::format("is {}", size));
  }
}

void read_position_shifts(const json& document, Fixture& fixture) {
  const char* field = "position_shifts";
  if (!document.contains(field)) return;
  if (!fixture.rotary) {
    throw InputError("fixture.missing_field", "rotary_embedding",
                     "position_shifts move the positions of a rotary embedding");
  }
  fixture.position_shifts = fixture_reader.integers(document[field], field);
  for (const std::int64_t shift : fixture.position_shifts) {
    if (shift < -largest_position || shift > largest_position) {
      throw InputError("fixture.position", field,
                       fmt::format("{} is beyond {}", shift, largest_position));
    }
  }
}

void read_gradients(const json& document, const Dimensions& d, Fixture& fixture) {
  const std::string where = "gradients";
  if (!document.contains(where)) return;
  const json& stated = document[where];
  fixture_reader.require_known(stated,
                               {"grad_output", "grad_scaled_query", "grad_key", "grad_value"},
                               where, fixture_format);
  GradientExpectation gradients;
  gradients.grad_output =
      number_field(stated, "grad_output", where, {d.batch, d.q_heads, d.queries, d.value_size});
  gradients.grad_value = number_field(stated, "grad_value", where, fixture.problem.value.shape());
  if (document.contains("scaled_query") || fixture.layer_input) {
    gradients.grad_scaled_query =
        number_field(stated, "grad_scaled_query", where, fixture.problem.query.shape());
    const std::string place = where + ": grad_key";
    gradients.grad_key = nested_tensor<LogRational>(
        fixture_reader.required(stated, "grad_key", where), 4, place, exact_logarithm);
    require_shape(gradients.grad_key->shape(), fixture.problem.key.shape(), place);
  } else if (stated.contains("grad_scaled_query") || stated.contains("grad_key")) {
    throw InputError("fixture.unknown_field", where,
                     "without scaled_query and key there is nothing to derive by but the value");
  }
  fixture.gradients = std::move(gradients);
}

}  // namespace

void read_other_ways(const json& document, Fixture& fixture) {
  const Dimensions d = dimensions_of(fixture.problem);
  read_other_layers(document, fixture);
  read_position_shifts(document, fixture);
  read_merges(document, d, fixture);
  read_gradients(document, d, fixture);
}

}  // namespace gqa
