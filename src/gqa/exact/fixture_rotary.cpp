// Rotary embedding in fixtures: reading it, applying it, and moving all positions alike.
#include <fmt/format.h>

#include "gqa/exact/fixture_checker.hpp"
#include "gqa/exact/fixture_fields.hpp"
#include "gqa/exact/json_fields.hpp"

namespace gqa {
namespace {

using nlohmann::json;

constexpr const char* rotary_field = "rotary_embedding";

std::string below(const std::string& field) {
  return fmt::format("{}: {}", rotary_field, field);
}

std::vector<RationalRotation> read_rotations(const json& value) {
  const std::string where = below("rotations");
  std::vector<RationalRotation> rotations;
  for (const json& entry : fixture_reader.list(value, where)) {
    fixture_reader.require_known(entry, {"cosine", "sine"}, where, fixture_format);
    RationalRotation r{exact_number(fixture_reader.required(entry, "cosine", where), where),
                       exact_number(fixture_reader.required(entry, "sine", where), where)};
    const Rational length(r.cosine * r.cosine + r.sine * r.sine);
    if (length != 1) {
      throw InputError("fixture.rotation", where,
                       fmt::format("cosine {} and sine {} are no rotation: their squares add up "
                                   "to {}, not 1",
                                   to_text(r.cosine), to_text(r.sine), to_text(length)));
    }
    rotations.push_back(std::move(r));
  }
  if (rotations.empty()) throw InputError("fixture.rotation", where, "there is no rotation");
  return rotations;
}

Tensor<std::int64_t> read_position_ids(const json& object, const char* field,
                                       const Shape& expected) {
  const auto read = [](const json& leaf, const std::string& where) {
    const std::int64_t id = fixture_reader.integer(leaf, where);
    if (id < 0 || id > largest_position) {
      throw InputError("fixture.position", where,
                       fmt::format("position {} is outside 0..{}", id, largest_position));
    }
    return id;
  };
  auto ids = nested_tensor<std::int64_t>(fixture_reader.required(object, field, rotary_field), 2,
                                         below(field), read);
  require_shape(ids.shape(), expected, below(field));
  return ids;
}

std::vector<std::int64_t> positions_of(const Tensor<std::int64_t>& ids, std::int64_t batch,
                                       std::int64_t shift) {
  const auto width = static_cast<std::size_t>(ids.extent(1));
  const auto first = ids.data().begin() + batch * ids.extent(1);
  std::vector<std::int64_t> positions(first, first + static_cast<std::ptrdiff_t>(width));
  for (std::int64_t& position : positions) position += shift;
  return positions;
}

template <class T>
Tensor<T> rotated(Tensor<T> heads, const RotaryOperands& rotary, const Tensor<std::int64_t>& ids,
                  std::int64_t shift) {
  for (std::int64_t b = 0; b < heads.extent(0); ++b) {
    const auto positions = positions_of(ids, b, shift);
    for (std::int64_t h = 0; h < heads.extent(1); ++h) {
      rotate_rows(heads.matrix(b, h), rotary.rotations, positions, rotary.pairs);
    }
  }
  return heads;
}

void apply(const RotaryOperands& rotary, std::int64_t shift, Problem<GmpNumbers>& problem) {
  problem.query = rotated(rotary.query, rotary, rotary.query_position_ids, shift);
  problem.key = rotated(rotary.key, rotary, rotary.key_position_ids, shift);
}

}  // namespace

void read_rotary_embedding(const json& document, Fixture& fixture) {
  if (!document.contains(rotary_field)) return;
  Problem<GmpNumbers>& problem = fixture.problem;
  if (!document.contains("scaled_query") && !fixture.layer_input) {
    throw InputError("fixture.missing_field", "scaled_query",
                     "rotary_embedding turns a query and a key, which are not stated");
  }
  const json& stated = document[rotary_field];
  fixture_reader.require_known(
      stated, {"rotations", "interleaved", "query_position_ids", "key_position_ids"}, rotary_field,
      fixture_format);
  dimensions_of(problem);  // shapes that fit each other, before they are walked
  RotaryOperands rotary;
  rotary.rotations = read_rotations(fixture_reader.required(stated, "rotations", rotary_field));
  const bool interleaved = fixture_reader.flag(
      fixture_reader.required(stated, "interleaved", rotary_field), below("interleaved"));
  rotary.pairs = interleaved ? RotaryPairs::interleaved : RotaryPairs::halves;
  const Shape& query = problem.query.shape();
  const Shape& key = problem.key.shape();
  if (static_cast<std::int64_t>(2 * rotary.rotations.size()) > query[3]) {
    throw InputError(
        "contract.shape_mismatch", below("rotations"),
        fmt::format("{} pairs do not fit in {} coordinates", rotary.rotations.size(), query[3]));
  }
  rotary.query_position_ids = read_position_ids(stated, "query_position_ids", {query[0], query[2]});
  rotary.key_position_ids = read_position_ids(stated, "key_position_ids", {key[0], key[2]});
  rotary.query = problem.query;
  rotary.key = problem.key;
  apply(rotary, 0, problem);
  fixture.rotary = std::move(rotary);
}

Tensor<Rational> rotated_keys(const RotaryOperands& rotary, Tensor<Rational> keys) {
  return rotated(std::move(keys), rotary, rotary.key_position_ids, 0);
}

void FixtureChecker::check_position_shifts() {
  for (const std::int64_t shift : fixture_.position_shifts) {
    Problem<GmpNumbers> moved = fixture_.problem;
    apply(*fixture_.rotary, shift, moved);
    const Result result = attention(moved);
    note("all positions moved by {}", shift);
    const std::string what = fmt::format("all positions moved by {}: ", shift);
    expect_elements(result.output, result_.output, what + "output");
    expect_elements(result.weights, result_.weights, what + "weights");
  }
}

}  // namespace gqa
