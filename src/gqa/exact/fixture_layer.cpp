// A layer with its projections: query, key and value from one input, and other weights beside.
#include <fmt/format.h>

#include "gqa/exact/fixture_checker.hpp"
#include "gqa/exact/fixture_fields.hpp"
#include "gqa/exact/json_fields.hpp"

namespace gqa {
namespace {

using nlohmann::json;

// [B, N, D] and weights [H, rows, D] -> [B, H, N, rows].
template <class T>
Tensor<T> projected(const Tensor<Rational>& input, const Tensor<T>& weight) {
  const std::int64_t batch = input.extent(0), heads = weight.extent(0);
  const auto width = static_cast<std::size_t>(input.extent(2));
  Tensor<T> result({batch, heads, input.extent(1), weight.extent(1)}, T());
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      const auto to = result.matrix(b, h);
      for (std::size_t i = 0; i < to.rows(); ++i) {
        const Rational* x =
            input.data().data() + (static_cast<std::size_t>(b) * to.rows() + i) * width;
        for (std::size_t r = 0; r < to.columns(); ++r) {
          const T* w =
              weight.data().data() + (static_cast<std::size_t>(h) * to.columns() + r) * width;
          for (std::size_t c = 0; c < width; ++c) to(i, r) += T(w[c] * x[c]);
        }
      }
    }
  }
  return result;
}

template <class T, class Read>
Tensor<T> read_weight(const json& object, const char* field, const std::string& where,
                      std::int64_t width, Read read) {
  const std::string place = where + ": " + field;
  auto weight = nested_tensor<T>(fixture_reader.required(object, field, where), 3, place, read);
  const Shape& shape = weight.shape();
  if (shape[2] != width || shape[1] == 0) {
    throw InputError(
        "contract.shape_mismatch", place,
        fmt::format("shape {} does not fit an input of width {}", to_text(shape), width));
  }
  return weight;
}

ProjectedHistory read_history(const json& object, const std::string& where,
                              const Tensor<Rational>& input, std::int64_t key_size) {
  const std::int64_t width = input.extent(2);
  const auto key = read_weight<Rational>(object, "key_weight", where, width, exact_number);
  const auto value = read_weight<Rational>(object, "value_weight", where, width, exact_number);
  require_shape({key.extent(0), key.extent(1)}, {value.extent(0), key_size},
                where + ": key_weight");
  return {projected(input, key), projected(input, value)};
}

}  // namespace

void read_layer(const json& document, Fixture& fixture) {
  const std::string where = "layer";
  for (const char* other : {"scaled_query", "key", "value", "strengths", "equal_scores"}) {
    if (!document.contains(other)) continue;
    throw InputError("fixture.scores_stated_twice", other, "is what the layer gives");
  }
  const json& stated = document[where];
  fixture_reader.require_known(stated, {"input", "query_weight", "key_weight", "value_weight"},
                               where, fixture_format);
  fixture.layer_input = nested_tensor<Rational>(fixture_reader.required(stated, "input", where), 3,
                                                where + ": input", exact_number);
  const Tensor<Rational>& input = *fixture.layer_input;
  const auto query =
      read_weight<LogRational>(stated, "query_weight", where, input.extent(2), exact_logarithm);
  ProjectedHistory history = read_history(stated, where, input, query.extent(1));
  fixture.problem.query = projected(input, query);
  fixture.problem.key = std::move(history.key);
  fixture.problem.value = std::move(history.value);
}

void read_other_layers(const json& document, Fixture& fixture) {
  const std::string where = "other_layers";
  if (!document.contains(where)) return;
  if (!fixture.layer_input) {
    throw InputError("fixture.missing_field", "layer", "other_layers are beside a layer");
  }
  for (const json& entry : fixture_reader.list(document[where], where)) {
    fixture_reader.require_known(entry, {"key_weight", "value_weight", "output", "equal"}, where,
                                 fixture_format);
    LayerExpectation other;
    other.history =
        read_history(entry, where, *fixture.layer_input, fixture.problem.query.extent(3));
    if (fixture.rotary) {
      other.history.key = rotated_keys(*fixture.rotary, std::move(other.history.key));
    }
    other.output =
        expected_tensor(fixture_reader.required(entry, "output", where), where + ": output");
    other.equal =
        fixture_reader.flag(fixture_reader.required(entry, "equal", where), where + ": equal");
    fixture.other_layers.push_back(std::move(other));
  }
}

void FixtureChecker::check_other_layer(const LayerExpectation& expected) {
  Problem<GmpNumbers> other = fixture_.problem;
  other.contract.head_map = {};
  other.key = expected.history.key;
  other.value = expected.history.value;
  const Result result = attention(other);
  expect_tensor(other, result, expected.output, "output of another layer");
  note("layer of {} KV heads by other weights", other.key.extent(1));
  const bool equal = result.output == result_.output && result.empty == result_.empty;
  if (equal != expected.equal) {
    fail("the output of another layer is {}", equal ? "equal" : "not equal");
  }
}

}  // namespace gqa
