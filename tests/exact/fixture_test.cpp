#include "gqa/exact/fixture.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "gqa/io/file.hpp"
#include "io/io_support.hpp"
#include "support/errors.hpp"

using namespace gqa;
using gqa::test::refusal_of;
using nlohmann::json;

namespace {

const std::filesystem::path shipped =
    std::filesystem::path(GQAVERIFY_SOURCE_DIR) / "fixtures" / "exact";

json read_shipped(const char* name) {
  return json::parse(read_text_file(shipped / (std::string(name) + ".json")));
}

FixtureReport check(const json& document) {
  return check_fixture(read_fixture(document));
}

template <class Change>
std::string refusal(Change change) {
  json document = read_shipped("two-queries-one-history");
  change(document);
  return refusal_of([&] { read_fixture(document); });
}

// Every path to a number or truth value below the fields that state an expectation.
std::vector<json::json_pointer> stated_leaves(const json& document) {
  std::vector<json::json_pointer> leaves;
  const json flat = document.flatten();
  for (const auto& [path, value] : flat.items()) {
    for (const char* field : {"/expect/", "/compare/", "/pooled/", "/segment/", "/merged/",
                              "/gradients/", "/other_layers/"}) {
      const bool operand = path.find("/head_map") != std::string::npos ||
                           path.find("/splits") != std::string::npos ||
                           path.find("_weight/") != std::string::npos ||
                           path.find("/grad_output") != std::string::npos ||
                           path.find("/point") != std::string::npos ||
                           path.find("/kv_num_heads") != std::string::npos;
      if (path.starts_with(field) && (!operand || path.starts_with("/expect/head_map"))) {
        leaves.emplace_back(path);
      }
    }
  }
  return leaves;
}

// Another value of the same kind.
json changed(const json& value, bool logarithm) {
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number()) return value.get<std::int64_t>() + 1;
  if (value == "nan") return "0";
  if (logarithm) {
    return to_text(parse_log_rational(value.get<std::string>()) +
                   LogRational::log_of(2) * power_of_two(-100));
  }
  return to_text(Rational(parse_rational(value.get<std::string>()) + power_of_two(-100)));
}

}  // namespace

TEST_CASE("fixture: every shipped fixture is right, and there are 168 of them") {
  const auto files = find_fixtures({shipped});
  CHECK(files.size() == 168);
  for (const auto& file : files) {
    const FixtureReport report = check_fixture_file(file);
    CAPTURE(report.path);
    for (const std::string& failure : report.failures) CAPTURE(failure);
    CHECK(report.passed);
    CHECK(report.negative == report.floats.empty());
  }
}

TEST_CASE("fixture: each stated number, changed by 2^-100, makes its fixture fail") {
  std::size_t tried = 0;
  for (const char* name :
       {"two-queries-one-history", "alternating-map-eight-heads", "pooling-loses", "open-segment",
        "empty-row-nan", "causal-bottom-right-more-queries", "sink-per-head", "merge-every-split",
        "merge-sink-counted-once", "merge-lengths-and-empty-row", "gradients-grouped-causal",
        "gradients-of-the-value-by-strengths", "rotary-each-pair-has-its-rotation",
        "layer-independent-weights-differ"}) {
    const json document = read_shipped(name);
    REQUIRE(check(document).passed);
    for (const json::json_pointer& leaf : stated_leaves(document)) {
      if (!document[leaf].is_primitive()) continue;  // an empty list
      json broken = document;
      broken[leaf] =
          changed(document[leaf], leaf.to_string().find("grad_key") != std::string::npos);
      CAPTURE(name);
      CAPTURE(leaf.to_string());
      const FixtureReport report = check(broken);
      CHECK_FALSE(report.passed);
      CHECK_FALSE(report.failures.empty());
      ++tried;
    }
  }
  CHECK(tried > 100);
}

TEST_CASE("fixture: the failure names the place, what was found and what was expected") {
  json document = read_shipped("two-queries-one-history");
  document["expect"]["output"][0][1][0][0] = "2";
  const FixtureReport report = check(document);
  REQUIRE(report.failures.size() == 1);
  CHECK(report.failures[0] == "output[0, 1, 0, 0]: 1, expected 2");
  CHECK((*report.exact).data() == std::vector<Rational>{3, 2, 1, 6});
}

TEST_CASE("fixture: pairs of heads, empty rows and permutations are checked, not believed") {
  json document = read_shipped("two-queries-one-history");
  document["equal_outputs"] = {{0, 1}};
  CHECK_FALSE(check(document).passed);
  document["equal_outputs"] = {{0, 5}};
  CHECK_FALSE(check(document).passed);
  document = read_shipped("two-queries-one-history");
  document["unequal_outputs"] = {{1, 1}};
  CHECK_FALSE(check(document).passed);
  document = read_shipped("two-queries-one-history");
  document["expect"]["empty_rows"] = {{0, 1, 0}};
  CHECK_FALSE(check(document).passed);
  document = read_shipped("consistent-permutation");
  REQUIRE(check(document).passed);
  auto& heads = document["permutation"]["query_heads"];
  heads[0] = heads[1];
  CHECK_FALSE(check(document).passed);
}

TEST_CASE("fixture: the pairs of a rotary embedding decide, and so does every position") {
  const json document = read_shipped("rotary-interleaved-pairs");
  REQUIRE(check(document).passed);
  json other = document;
  other["rotary_embedding"]["interleaved"] = false;
  CHECK_FALSE(check(other).passed);
  other = document;
  other["rotary_embedding"]["key_position_ids"][0][0] = 1;
  CHECK_FALSE(check(other).passed);
  other = document;
  other["rotary_embedding"]["rotations"][0]["sine"] = "-4/5";
  CHECK_FALSE(check(other).passed);
}

TEST_CASE("fixture: a layer's projections decide, and those of another layer") {
  const json document = read_shipped("layer-expanded-weights-are-gqa");
  for (const char* weight : {"query_weight", "key_weight", "value_weight"}) {
    CAPTURE(weight);
    json other = document;
    other["layer"][weight][1][0][1] = weight == std::string("query_weight") ? "ln(2)" : "5";
    CHECK_FALSE(check(other).passed);
  }
  json other = document;
  other["other_layers"][0]["key_weight"][3][0][0] = "1";
  CHECK_FALSE(check(other).passed);
  other = document;
  other["other_layers"][0]["equal"] = false;
  const FixtureReport report = check(other);
  REQUIRE(report.failures.size() == 1);
  CHECK(report.failures[0] == "the output of another layer is equal");
}

TEST_CASE("fixture: moved positions, tiles and gradients are computed, not believed") {
  // As far as positions go.
  json document = read_shipped("rotary-relative-position");
  document["position_shifts"] = {4096, -4096, 0};
  CHECK(check(document).passed);
  // Gradients of another grad_output are others.
  document = read_shipped("gradients-cancel-in-the-group");
  document["gradients"]["grad_output"][0][1][0][0] = "1";
  const FixtureReport report = check(document);
  REQUIRE(report.failures.size() == 5);
  CHECK(report.failures[0] == "grad_value[0, 0, 0, 0]: 3/2, expected 0");
  CHECK(report.failures[2] == "grad_scaled_query[0, 1, 0, 0]: 3/4, expected -3/4");
  CHECK(report.failures[3] == "grad_key[0, 0, 0, 0]: 3/2*ln(3), expected 0");
}

TEST_CASE("fixture: rotary embedding, splits, tiles and gradients that do not fit are refused") {
  const auto refusal_in = [](const char* name, const auto& change) {
    json document = read_shipped(name);
    change(document);
    return refusal_of([&] { read_fixture(document); });
  };
  CHECK(refusal([](json& d) { d["position_shifts"] = {1}; }) ==
        "fixture.missing_field at rotary_embedding");
  CHECK(refusal_in("rotary-relative-position", [](json& d) { d["position_shifts"] = {4097}; }) ==
        "fixture.position at position_shifts");
  CHECK(refusal_in("rotary-relative-position", [](json& d) {
          d["rotary_embedding"]["query_position_ids"] = {{4097}};
        }) == "fixture.position at rotary_embedding: query_position_ids[0][0]");
  CHECK(refusal_in("rotary-relative-position", [](json& d) {
          d["rotary_embedding"]["rotations"] = json::array();
        }) == "fixture.rotation at rotary_embedding: rotations");
  CHECK(refusal([](json& d) { d["other_layers"] = json::array(); }) ==
        "fixture.missing_field at layer");
  CHECK(refusal_in("layer-mean-pooled-weights-lose", [](json& d) {
          d["other_layers"][0]["key_weight"][0].push_back({"1", "1"});
        }) == "contract.shape_mismatch at other_layers: key_weight");
  CHECK(refusal_in("layer-mean-pooled-weights-lose", [](json& d) {
          d["layer"]["input"][0][1].push_back("1");
        }) == "fixture.ragged at layer: input[0][1]");
  for (const json& splits : {json{0}, json{4}, json{2, 2}, json{3, 1}, json::array()}) {
    CAPTURE(splits.dump());
    CHECK(refusal_in("merge-two-parts", [&](json& d) { d["merged"][0]["splits"] = splits; }) ==
          "fixture.splits at merged: splits");
  }
  CHECK(refusal_in("merge-two-parts", [](json& d) { d["merged"][0]["shares"].erase(1); }) ==
        "contract.shape_mismatch at merged: shares");
  CHECK(refusal_in("merge-two-parts", [](json& d) {
          d["merged"][0]["outputs"][1][0][0][0].push_back("1");
        }) == "contract.shape_mismatch at merged: outputs");
  CHECK(refusal_in("merge-every-split", [](json& d) {
          d["online_softmax_tile_sizes"] = {1, 0};
        }) == "fixture.tile_size at online_softmax_tile_sizes");
  CHECK(refusal_in("gradients-one-head", [](json& d) {
          d["gradients"]["grad_output"][0][0][0].push_back("1");
        }) == "contract.shape_mismatch at gradients: grad_output");
  CHECK(refusal_in("gradients-one-head", [](json& d) { d["gradients"].erase("grad_key"); }) ==
        "fixture.missing_field at gradients: grad_key");
  CHECK(refusal_in("gradients-of-the-value-by-strengths", [](json& d) {
          d["gradients"]["grad_key"] = d["value"];
        }) == "fixture.unknown_field at gradients");
}

TEST_CASE("fixture: the report says what was checked beside output and weights") {
  const auto also = [](const char* name) { return check(read_shipped(name)).also_checked; };
  using Texts = std::vector<std::string>;
  CHECK(also("two-queries-one-history").empty());
  CHECK(also("merge-sink-counted-once") ==
        Texts{"merged from parts that begin at keys 0, 1", "online softmax in tiles of 1, 2"});
  CHECK(also("gradients-summed-over-the-group") ==
        Texts{"gradients of scaled query, key and value, also as sums of the expanded reference"});
  CHECK(also("gradients-of-the-value-by-strengths") ==
        Texts{"gradients of value, also as sums of the expanded reference"});
  CHECK(also("layer-expanded-weights-with-rotary-embedding") ==
        Texts{"layer of 2 KV heads by other weights", "all positions moved by 2"});
  CHECK(also("pooling-loses") == Texts{"KV heads averaged to 1"});
  CHECK(also("open-segment").size() > 1);
}

TEST_CASE("fixture: an output without an element is not a pass") {
  const json document = json::parse(R"({"schema": "gqaverify.fixture/1", "name": "n",
    "statement": "s", "equal_scores": {"query_heads": 1, "queries": 0},
    "value": [[[["1"]]]], "expect": {"output": [[[]]]}})");
  const FixtureReport report = check(document);
  CHECK_FALSE(report.passed);
}

TEST_CASE("fixture: a field that breaks the format is refused with its code, at its path") {
  CHECK(refusal([](json& d) { d["extra"] = 1; }) == "fixture.unknown_field at extra");
  CHECK(refusal([](json& d) { d.erase("value"); }) == "fixture.missing_field at value");
  CHECK(refusal([](json& d) { d.erase("schema"); }) == "fixture.missing_field at schema");
  CHECK(refusal([](json& d) { d["schema"] = "gqaverify.fixture/2"; }) ==
        "fixture.schema at schema");
  CHECK(refusal([](json& d) { d.erase("expect"); }) == "fixture.missing_field at expect");
  CHECK(refusal([](json& d) { d["expect"].erase("output"); }) ==
        "fixture.missing_field at expect: output");
  CHECK(refusal([](json& d) { d["expect"]["outputs"] = 1; }) ==
        "fixture.unknown_field at expect: outputs");
  CHECK(refusal([](json& d) { d["key"][0][0][1][1] = 1; }) ==
        "fixture.field_type at key[0][0][1][1]");
  CHECK(refusal([](json& d) { d["key"][0][0][1] = {"0"}; }) == "fixture.ragged at key[0][0][1]");
  CHECK(refusal([](json& d) { d["strengths"] = d["key"]; }) ==
        "fixture.scores_stated_twice at scaled_query");
  CHECK(refusal([](json& d) {
          d.erase("scaled_query");
          d.erase("key");
        }) == "fixture.missing_field at scaled_query");
  CHECK(refusal([](json& d) {
          d["contract"] = {{"causl", true}};
        }) == "contract.unknown_field at contract: causl");
  CHECK(refusal([](json& d) { d["sink"] = {"1"}; }) == "log_rational.syntax at sink[0]");
  CHECK(refusal([](json& d) { d["nonpad_kv_seqlen"] = {18446744073709551615ULL}; }) ==
        "fixture.field_type at nonpad_kv_seqlen");
}

TEST_CASE("fixture: null in place of expectations is refused, not passed over") {
  for (const char* field : {"compare", "equal_outputs", "unequal_outputs", "segment"}) {
    CAPTURE(field);
    CHECK(refusal([field](json& d) { d[field] = nullptr; }) ==
          std::string("fixture.field_type at ") + field);
  }
  CHECK(refusal([](json& d) { d["expect"]["empty_rows"] = nullptr; }) ==
        "fixture.field_type at expect: empty_rows");
}

TEST_CASE("fixture: a negative fixture passes only with the expected code at the expected place") {
  const test::TemporaryDirectory directory;
  const auto verdict = [&](const char* code, const char* where, const char* value) {
    const auto path = directory / "case.json";
    const json document = {{"schema", "gqaverify.fixture/1"},
                           {"name", "case"},
                           {"statement", "s"},
                           {"equal_scores", {{"query_heads", 1}, {"queries", 1}}},
                           {"value", {{{{value}}}}},
                           {"expect", {{"error", {{"code", code}, {"where", where}}}}}};
    write_file_atomically(path, document.dump());
    return check_fixture_file(path).passed;
  };
  CHECK(verdict("rational.syntax", "value", "x"));
  CHECK_FALSE(verdict("rational.empty", "value", "x"));
  CHECK_FALSE(verdict("rational.syntax", "key", "x"));
  CHECK_FALSE(verdict("rational.syntax", "value", "1"));  // nothing is wrong
}

TEST_CASE("fixture: a file whose name is not its own fails") {
  const test::TemporaryDirectory directory;
  const auto path = directory / "other.json";
  write_file_atomically(path, read_shipped("two-queries-one-history").dump());
  CHECK_FALSE(check_fixture_file(path).passed);
}

TEST_CASE("fixture: no file, an empty folder and an empty file are errors, never a pass") {
  const test::TemporaryDirectory directory;
  const auto missing = directory / "missing.json";
  CHECK(refusal_of([&] { find_fixtures({missing}); }) == "file.not_found at " + missing.string());
  std::filesystem::create_directory(directory / "empty");
  CHECK(refusal_of([&] { find_fixtures({directory / "empty"}); }) ==
        "fixture.none_found at " + (directory / "empty").string());
  CHECK(refusal_of([] { find_fixtures({}); }) == "fixture.none_found at PATH");
  const auto blank = directory / "blank.json";
  write_file_atomically(blank, std::string_view());
  CHECK(refusal_of([&] {
          check_fixture_file(blank);
        }).starts_with("json.syntax at " + blank.string()));
}
