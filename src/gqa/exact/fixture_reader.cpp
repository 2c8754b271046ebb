#include <fmt/format.h>

#include "gqa/exact/fixture.hpp"
#include "gqa/exact/fixture_fields.hpp"
#include "gqa/exact/json_fields.hpp"
#include "gqa/io/contract_json.hpp"

namespace gqa {
namespace {

using nlohmann::json;

const std::set<std::string> known_fields{"schema",
                                         "name",
                                         "statement",
                                         "source",
                                         "contract",
                                         "scaled_query",
                                         "key",
                                         "strengths",
                                         "equal_scores",
                                         "score_shift",
                                         "bias",
                                         "sink",
                                         "attn_mask",
                                         "nonpad_kv_seqlen",
                                         "value",
                                         "expect",
                                         "compare",
                                         "permutation",
                                         "equal_outputs",
                                         "unequal_outputs",
                                         "pooled",
                                         "segment",
                                         "rotary_embedding",
                                         "position_shifts",
                                         "merged",
                                         "online_softmax_tile_sizes",
                                         "gradients",
                                         "layer",
                                         "other_layers"};

Rational exact_strength(const json& value, const std::string& where) {
  Rational strength = exact_number(value, where);
  if (strength <= 0) {
    throw InputError(
        "fixture.strength_not_positive", where,
        fmt::format("the strength is {}; exp of a score is positive", to_text(strength)));
  }
  return strength;
}

Tensor<Rational> number_tensor(const json& document, const char* field) {
  return nested_tensor<Rational>(fixture_reader.required(document, field, ""), 4, field,
                                 exact_number);
}

// Exactly one of the three ways to state the scores.
void read_scores(const json& document, Problem<GmpNumbers>& problem) {
  const bool by_query = document.contains("scaled_query");
  const bool by_strengths = document.contains("strengths");
  const bool equal = document.contains("equal_scores");
  const int ways = (by_query ? 1 : 0) + (by_strengths ? 1 : 0) + (equal ? 1 : 0);
  if (ways == 0) {
    throw InputError(
        "fixture.missing_field", "scaled_query",
        "state the scores by scaled_query and key, strengths, equal_scores, or a layer");
  }
  if (ways > 1 || (!by_query && document.contains("key"))) {
    throw InputError("fixture.scores_stated_twice", "scaled_query",
                     "the scores are stated in more than one way");
  }
  const Shape& value = problem.value.shape();
  const Shape blank_key{value[0], value[1], value[2], 1};
  if (by_query) {
    problem.query =
        nested_tensor<LogRational>(document["scaled_query"], 4, "scaled_query", exact_logarithm);
    problem.key = number_tensor(document, "key");
  } else if (by_strengths) {
    problem.strengths =
        nested_tensor<Rational>(document["strengths"], 4, "strengths", exact_strength);
  } else {
    const json& counts = document["equal_scores"];
    fixture_reader.require_known(counts, {"query_heads", "queries"}, "equal_scores",
                                 fixture_format);
    const auto count = [&](const char* field) {
      return fixture_reader.integer(fixture_reader.required(counts, field, "equal_scores"),
                                    std::string("equal_scores: ") + field);
    };
    const Shape rows{value[0], count("query_heads"), count("queries"), 1};
    // A few digits ask for any number of rows: as many as all the fixtures shipped have together.
    constexpr std::int64_t most_rows = 1 << 16;
    if (element_count(rows, "equal_scores") > most_rows) {
      throw InputError("fixture.too_large", "equal_scores",
                       fmt::format("{} are more than {} query rows", to_text(rows), most_rows));
    }
    problem.query = Tensor<LogRational>(rows);
    problem.key = Tensor<Rational>(blank_key, Rational(0));
  }
}

void read_optional_operands(const json& document, Problem<GmpNumbers>& problem) {
  const Shape& query = problem.strengths ? problem.strengths->shape() : problem.query.shape();
  const std::int64_t keys = problem.value.extent(2);
  if (document.contains("score_shift")) {
    auto shift =
        nested_tensor<LogRational>(document["score_shift"], 3, "score_shift", exact_logarithm);
    require_shape(shift.shape(), {query[0], query[1], query[2]}, "score_shift");
    problem.score_shift =
        Tensor<LogRational>({query[0], query[1], query[2], 1}, std::move(shift.data()));
  }
  if (document.contains("bias")) {
    problem.bias = nested_tensor<LogRational>(document["bias"], 4, "bias", exact_logarithm);
    require_shape(problem.bias->shape(), {query[0], query[1], query[2], keys}, "bias");
  }
  if (document.contains("sink")) {
    problem.sink = nested_tensor<LogRational>(document["sink"], 1, "sink", exact_logarithm).data();
  }
  if (document.contains("attn_mask")) {
    problem.mask = nested_tensor<char>(document["attn_mask"], 4, "attn_mask",
                                       [](const json& leaf, const std::string& place) -> char {
                                         return fixture_reader.flag(leaf, place) ? 1 : 0;
                                       });
  }
  if (document.contains("nonpad_kv_seqlen")) {
    problem.lengths = fixture_reader.integers(document["nonpad_kv_seqlen"], "nonpad_kv_seqlen");
  }
}

}  // namespace

Fixture read_fixture(const json& document) {
  fixture_reader.require_known(document, known_fields, "", fixture_format);
  const std::string schema =
      fixture_reader.text(fixture_reader.required(document, "schema", ""), "schema");
  if (schema != "gqaverify.fixture/1") {
    throw InputError("fixture.schema", "schema",
                     fmt::format("is \"{}\"; expected gqaverify.fixture/1", schema));
  }
  Fixture fixture;
  fixture.name = fixture_reader.text(fixture_reader.required(document, "name", ""), "name");
  fixture.statement =
      fixture_reader.text(fixture_reader.required(document, "statement", ""), "statement");
  if (document.contains("contract")) {
    read_contract(document["contract"], fixture.problem.contract, "contract");
  }
  if (document.contains("layer")) {
    read_layer(document, fixture);
  } else {
    fixture.problem.value = number_tensor(document, "value");
    read_scores(document, fixture.problem);
  }
  read_rotary_embedding(document, fixture);
  read_optional_operands(document, fixture.problem);
  if (!expected_error(document)) {
    read_expectations(document, fixture);
  }
  return fixture;
}

std::optional<ExpectedError> expected_error(const json& document) {
  if (!document.is_object() || !document.contains("expect")) return std::nullopt;
  const json& expect = document["expect"];
  if (!expect.is_object() || !expect.contains("error")) return std::nullopt;
  fixture_reader.require_known(expect, {"error"}, "expect", fixture_format);
  const json& error = expect["error"];
  fixture_reader.require_known(error, {"code", "where"}, "expect: error", fixture_format);
  ExpectedError expected;
  expected.code =
      fixture_reader.text(fixture_reader.required(error, "code", "expect: error"), "expect: error");
  if (error.contains("where")) {
    expected.where = fixture_reader.text(error["where"], "expect: error: where");
  }
  return expected;
}

}  // namespace gqa
