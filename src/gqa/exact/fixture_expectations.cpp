// What a fixture expects of its problem.
#include <fmt/format.h>

#include "gqa/exact/fixture_fields.hpp"
#include "gqa/exact/json_fields.hpp"
#include "gqa/io/contract_json.hpp"

namespace gqa {
namespace {

using nlohmann::json;

void read_expect(const json& document, Fixture& fixture) {
  const json& expect = fixture_reader.required(document, "expect", "");
  fixture_reader.require_known(expect, {"output", "weights", "head_map", "empty_rows"}, "expect",
                               fixture_format);
  fixture.output =
      expected_tensor(fixture_reader.required(expect, "output", "expect"), "expect: output");
  if (expect.contains("weights")) {
    fixture.weights =
        nested_tensor<Rational>(expect["weights"], 4, "expect: weights", exact_number);
  }
  if (expect.contains("head_map")) {
    fixture.head_map = fixture_reader.integers(expect["head_map"], "expect: head_map");
  }
  if (expect.contains("empty_rows")) {
    fixture.empty_rows.emplace();
    for (const json& row : fixture_reader.list(expect["empty_rows"], "expect: empty_rows")) {
      fixture.empty_rows->push_back(fixture_reader.integers(row, "expect: empty_rows"));
    }
  }
}

HeadMap head_map_field(const json& value, const std::string& where) {
  if (value.is_string()) return parse_head_map(value.get<std::string>(), where);
  return {HeadMapKind::explicit_list, fixture_reader.integers(value, where)};
}

void read_comparisons(const json& document, Fixture& fixture) {
  if (!document.contains("compare")) return;
  for (const json& entry : fixture_reader.list(document["compare"], "compare")) {
    fixture_reader.require_known(entry, {"head_map", "changed_heads", "output"}, "compare",
                                 fixture_format);
    MapComparison comparison;
    comparison.head_map =
        head_map_field(fixture_reader.required(entry, "head_map", "compare"), "compare: head_map");
    comparison.changed_heads = fixture_reader.integers(
        fixture_reader.required(entry, "changed_heads", "compare"), "compare: changed_heads");
    if (entry.contains("output")) {
      comparison.output = expected_tensor(entry["output"], "compare: output");
    }
    fixture.comparisons.push_back(std::move(comparison));
  }
}

std::vector<HeadPair> head_pairs(const json& document, const char* field) {
  std::vector<HeadPair> pairs;
  if (!document.contains(field)) return pairs;
  for (const json& entry : fixture_reader.list(document[field], field)) {
    const auto pair = fixture_reader.integers(entry, field);
    if (pair.size() != 2) fixture_reader.wrong_type(entry, field, "a pair of query heads");
    pairs.emplace_back(pair[0], pair[1]);
  }
  return pairs;
}

void read_relations(const json& document, Fixture& fixture) {
  fixture.equal_outputs = head_pairs(document, "equal_outputs");
  fixture.unequal_outputs = head_pairs(document, "unequal_outputs");
  if (document.contains("permutation")) {
    const json& entry = document["permutation"];
    fixture_reader.require_known(entry, {"query_heads", "kv_heads"}, "permutation", fixture_format);
    fixture.permutation = HeadPermutation{
        fixture_reader.integers(fixture_reader.required(entry, "query_heads", "permutation"),
                                "permutation"),
        fixture_reader.integers(fixture_reader.required(entry, "kv_heads", "permutation"),
                                "permutation")};
  }
  if (document.contains("pooled")) {
    const json& entry = document["pooled"];
    fixture_reader.require_known(entry, {"kv_num_heads", "output", "lossless"}, "pooled",
                                 fixture_format);
    fixture.pooled = PoolingExpectation{
        fixture_reader.integer(fixture_reader.required(entry, "kv_num_heads", "pooled"),
                               "pooled: kv_num_heads"),
        expected_tensor(fixture_reader.required(entry, "output", "pooled"), "pooled: output"),
        fixture_reader.flag(fixture_reader.required(entry, "lossless", "pooled"),
                            "pooled: lossless")};
  }
}

void read_segment(const json& document, Fixture& fixture) {
  if (!document.contains("segment")) return;
  const auto numbers = [](const json& value, const char* where) {
    return nested_tensor<Rational>(value, 1, where, exact_number).data();
  };
  for (const json& entry : fixture_reader.list(document["segment"], "segment")) {
    fixture_reader.require_known(entry, {"point", "attainable", "weights"}, "segment",
                                 fixture_format);
    SegmentExpectation expected;
    expected.point = numbers(fixture_reader.required(entry, "point", "segment"), "segment: point");
    expected.attainable = fixture_reader.flag(
        fixture_reader.required(entry, "attainable", "segment"), "segment: attainable");
    if (entry.contains("weights")) {
      expected.weights = numbers(entry["weights"], "segment: weights");
    }
    fixture.segment.push_back(std::move(expected));
  }
}

}  // namespace

void require_shape(const Shape& shape, const Shape& expected, const std::string& where) {
  if (shape == expected) return;
  throw InputError(
      "contract.shape_mismatch", where,
      fmt::format("shape {} does not fit; expected {}", to_text(shape), to_text(expected)));
}

Rational exact_number(const json& value, const std::string& where) {
  return parse_rational(fixture_reader.text(value, where), where);
}

LogRational exact_logarithm(const json& value, const std::string& where) {
  return parse_log_rational(fixture_reader.text(value, where), where);
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

void read_expectations(const json& document, Fixture& fixture) {
  read_expect(document, fixture);
  read_comparisons(document, fixture);
  read_relations(document, fixture);
  read_segment(document, fixture);
  read_other_ways(document, fixture);
}

}  // namespace gqa
