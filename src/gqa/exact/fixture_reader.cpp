#include <fmt/format.h>

#include "gqa/exact/fixture.hpp"
#include "gqa/exact/json_fields.hpp"
#include "gqa/io/contract_json.hpp"

namespace gqa {
namespace {

using nlohmann::json;

const std::set<std::string> known_fields{
    "schema",       "name",    "statement",   "source",           "contract",
    "scaled_query", "key",     "strengths",   "equal_scores",     "score_shift",
    "bias",         "sink",    "attn_mask",   "nonpad_kv_seqlen", "value",
    "expect",       "compare", "permutation", "equal_outputs",    "unequal_outputs",
    "pooled",       "segment"};

Rational exact_number(const json& value, const std::string& where) {
  return parse_rational(string_field(value, where), where);
}

LogRational exact_logarithm(const json& value, const std::string& where) {
  return parse_log_rational(string_field(value, where), where);
}

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
  return nested_tensor<Rational>(required_field(document, field, ""), 4, field, exact_number);
}

ExpectedTensor expected_tensor(const json& value, const std::string& where) {
  ExpectedTensor expected;
  expected.values = nested_tensor<Rational>(
      value, 4, where, [&](const json& leaf, const std::string& place) -> Rational {
        const bool nan = leaf.is_string() && leaf.get<std::string>() == "nan";
        expected.is_nan.push_back(nan ? 1 : 0);
        return nan ? Rational(0) : exact_number(leaf, place);
      });
  return expected;
}

// Exactly one of the three ways to state the scores.
void read_scores(const json& document, Problem<GmpNumbers>& problem) {
  const bool by_query = document.contains("scaled_query");
  const bool by_strengths = document.contains("strengths");
  const bool equal = document.contains("equal_scores");
  const int ways = (by_query ? 1 : 0) + (by_strengths ? 1 : 0) + (equal ? 1 : 0);
  if (ways == 0) {
    throw InputError("fixture.missing_field", "scaled_query",
                     "state the scores by scaled_query and key, strengths, or equal_scores");
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
    require_known_fields(counts, {"query_heads", "queries"}, "equal_scores");
    const auto count = [&](const char* field) {
      return integer_field(required_field(counts, field, "equal_scores"),
                           std::string("equal_scores: ") + field);
    };
    problem.query = Tensor<LogRational>({value[0], count("query_heads"), count("queries"), 1});
    problem.key = Tensor<Rational>(blank_key, Rational(0));
  }
}

void require_row_shape(const Shape& shape, const Shape& expected, const char* field) {
  if (shape != expected) {
    throw InputError(
        "contract.shape_mismatch", field,
        fmt::format("shape {} does not fit; expected {}", to_text(shape), to_text(expected)));
  }
}

void read_optional_operands(const json& document, Problem<GmpNumbers>& problem) {
  const Shape& query = problem.strengths ? problem.strengths->shape() : problem.query.shape();
  const std::int64_t keys = problem.value.extent(2);
  if (document.contains("score_shift")) {
    auto shift =
        nested_tensor<LogRational>(document["score_shift"], 3, "score_shift", exact_logarithm);
    require_row_shape(shift.shape(), {query[0], query[1], query[2]}, "score_shift");
    problem.score_shift =
        Tensor<LogRational>({query[0], query[1], query[2], 1}, std::move(shift.data()));
  }
  if (document.contains("bias")) {
    problem.bias = nested_tensor<LogRational>(document["bias"], 4, "bias", exact_logarithm);
    require_row_shape(problem.bias->shape(), {query[0], query[1], query[2], keys}, "bias");
  }
  if (document.contains("sink")) {
    problem.sink = nested_tensor<LogRational>(document["sink"], 1, "sink", exact_logarithm).data();
  }
  if (document.contains("attn_mask")) {
    problem.mask = nested_tensor<char>(document["attn_mask"], 4, "attn_mask",
                                       [](const json& leaf, const std::string& place) -> char {
                                         return boolean_field(leaf, place) ? 1 : 0;
                                       });
  }
  if (document.contains("nonpad_kv_seqlen")) {
    problem.lengths = integer_list(document["nonpad_kv_seqlen"], "nonpad_kv_seqlen");
  }
}

void read_expectations(const json& document, Fixture& fixture) {
  const json& expect = required_field(document, "expect", "");
  require_known_fields(expect, {"output", "weights", "head_map", "empty_rows"}, "expect");
  fixture.output = expected_tensor(required_field(expect, "output", "expect"), "expect: output");
  if (expect.contains("weights")) {
    fixture.weights =
        nested_tensor<Rational>(expect["weights"], 4, "expect: weights", exact_number);
  }
  if (expect.contains("head_map")) {
    fixture.head_map = integer_list(expect["head_map"], "expect: head_map");
  }
  if (expect.contains("empty_rows")) {
    fixture.empty_rows.emplace();
    for (const json& row : list_field(expect["empty_rows"], "expect: empty_rows")) {
      fixture.empty_rows->push_back(integer_list(row, "expect: empty_rows"));
    }
  }
}

HeadMap head_map_field(const json& value, const std::string& where) {
  if (value.is_string()) return parse_head_map(value.get<std::string>(), where);
  return {HeadMapKind::explicit_list, integer_list(value, where)};
}

void read_comparisons(const json& document, Fixture& fixture) {
  if (!document.contains("compare")) return;
  for (const json& entry : list_field(document["compare"], "compare")) {
    require_known_fields(entry, {"head_map", "changed_heads", "output"}, "compare");
    MapComparison comparison;
    comparison.head_map =
        head_map_field(required_field(entry, "head_map", "compare"), "compare: head_map");
    comparison.changed_heads =
        integer_list(required_field(entry, "changed_heads", "compare"), "compare: changed_heads");
    if (entry.contains("output")) {
      comparison.output = expected_tensor(entry["output"], "compare: output");
    }
    fixture.comparisons.push_back(std::move(comparison));
  }
}

std::vector<HeadPair> head_pairs(const json& document, const char* field) {
  std::vector<HeadPair> pairs;
  if (!document.contains(field)) return pairs;
  for (const json& entry : list_field(document[field], field)) {
    const auto pair = integer_list(entry, field);
    if (pair.size() != 2) wrong_field_type(entry, field, "a pair of query heads");
    pairs.emplace_back(pair[0], pair[1]);
  }
  return pairs;
}

void read_relations(const json& document, Fixture& fixture) {
  fixture.equal_outputs = head_pairs(document, "equal_outputs");
  fixture.unequal_outputs = head_pairs(document, "unequal_outputs");
  if (document.contains("permutation")) {
    const json& entry = document["permutation"];
    require_known_fields(entry, {"query_heads", "kv_heads"}, "permutation");
    fixture.permutation = HeadPermutation{
        integer_list(required_field(entry, "query_heads", "permutation"), "permutation"),
        integer_list(required_field(entry, "kv_heads", "permutation"), "permutation")};
  }
  if (document.contains("pooled")) {
    const json& entry = document["pooled"];
    require_known_fields(entry, {"kv_num_heads", "output", "lossless"}, "pooled");
    fixture.pooled = PoolingExpectation{
        integer_field(required_field(entry, "kv_num_heads", "pooled"), "pooled: kv_num_heads"),
        expected_tensor(required_field(entry, "output", "pooled"), "pooled: output"),
        boolean_field(required_field(entry, "lossless", "pooled"), "pooled: lossless")};
  }
}

void read_segment(const json& document, Fixture& fixture) {
  if (!document.contains("segment")) return;
  const auto numbers = [](const json& value, const char* where) {
    return nested_tensor<Rational>(value, 1, where, exact_number).data();
  };
  for (const json& entry : list_field(document["segment"], "segment")) {
    require_known_fields(entry, {"point", "attainable", "weights"}, "segment");
    SegmentExpectation expected;
    expected.point = numbers(required_field(entry, "point", "segment"), "segment: point");
    expected.attainable =
        boolean_field(required_field(entry, "attainable", "segment"), "segment: attainable");
    if (entry.contains("weights")) {
      expected.weights = numbers(entry["weights"], "segment: weights");
    }
    fixture.segment.push_back(std::move(expected));
  }
}

}  // namespace

Fixture read_fixture(const json& document) {
  require_known_fields(document, known_fields, "");
  const std::string schema = string_field(required_field(document, "schema", ""), "schema");
  if (schema != "gqaverify.fixture/1") {
    throw InputError("fixture.schema", "schema",
                     fmt::format("is \"{}\"; expected gqaverify.fixture/1", schema));
  }
  Fixture fixture;
  fixture.name = string_field(required_field(document, "name", ""), "name");
  fixture.statement = string_field(required_field(document, "statement", ""), "statement");
  if (document.contains("contract")) {
    read_contract(document["contract"], fixture.problem.contract, "contract");
  }
  fixture.problem.value = number_tensor(document, "value");
  read_scores(document, fixture.problem);
  read_optional_operands(document, fixture.problem);
  if (!expected_error(document)) {
    read_expectations(document, fixture);
    read_comparisons(document, fixture);
    read_relations(document, fixture);
    read_segment(document, fixture);
  }
  return fixture;
}

std::optional<ExpectedError> expected_error(const json& document) {
  if (!document.is_object() || !document.contains("expect")) return std::nullopt;
  const json& expect = document["expect"];
  if (!expect.is_object() || !expect.contains("error")) return std::nullopt;
  require_known_fields(expect, {"error"}, "expect");
  const json& error = expect["error"];
  require_known_fields(error, {"code", "where"}, "expect: error");
  ExpectedError expected;
  expected.code = string_field(required_field(error, "code", "expect: error"), "expect: error");
  if (error.contains("where")) {
    expected.where = string_field(error["where"], "expect: error: where");
  }
  return expected;
}

}  // namespace gqa
