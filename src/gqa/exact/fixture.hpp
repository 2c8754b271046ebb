// Exact fixtures: a problem with exact operands and what it must give.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gqa/attention/attention.hpp"
#include "gqa/exact/crosscheck.hpp"

namespace gqa {

/// Expected outputs; a NaN cannot be a rational, so it is marked beside.
struct ExpectedTensor {
  Tensor<Rational> values;
  std::vector<char> is_nan;  ///< one per element
};

/// The same operands under another head map: which heads change, and to what.
struct MapComparison {
  HeadMap head_map;
  std::vector<std::int64_t> changed_heads;
  std::optional<ExpectedTensor> output;
};

/// New head h is old head query_heads[h]; new KV head g is old KV head kv_heads[g].
struct HeadPermutation {
  std::vector<std::int64_t> query_heads;
  std::vector<std::int64_t> kv_heads;
};

/// KV heads mean-pooled over consecutive groups, then attended.
struct PoolingExpectation {
  std::int64_t kv_heads = 0;
  ExpectedTensor output;
  bool lossless = false;
};

/// A point against the values of batch 0, KV head 0.
struct SegmentExpectation {
  std::vector<Rational> point;
  bool attainable = false;
  std::optional<std::vector<Rational>> weights;
};

struct ExpectedError {
  std::string code;
  std::optional<std::string> where;
};

using HeadPair = std::pair<std::int64_t, std::int64_t>;

/// One fixture, format fixtures/FORMAT.md ("gqaverify.fixture/1").
struct Fixture {
  std::string name;
  std::string statement;
  Problem<GmpNumbers> problem;
  std::optional<ExpectedTensor> output;
  std::optional<Tensor<Rational>> weights;
  std::optional<std::vector<std::int64_t>> head_map;
  std::optional<std::vector<std::vector<std::int64_t>>> empty_rows;
  std::vector<MapComparison> comparisons;
  std::optional<HeadPermutation> permutation;
  std::vector<HeadPair> equal_outputs;
  std::vector<HeadPair> unequal_outputs;
  std::optional<PoolingExpectation> pooled;
  std::vector<SegmentExpectation> segment;
};

/// Reads the problem and the expectations of a positive fixture.
/// Errors: InputError "fixture.*", "rational.*", "log_rational.*", "contract.*" at the
/// field's path.
Fixture read_fixture(const nlohmann::json& document);

/// The error that a negative fixture expects, or nullopt for a positive one.
std::optional<ExpectedError> expected_error(const nlohmann::json& document);

/// The verdict on one fixture.
struct FixtureReport {
  std::string path;
  std::string name;
  std::string statement;
  bool negative = false;
  bool passed = false;                    ///< false until everything expected was seen
  std::vector<std::string> failures;      ///< one sentence each
  std::string observed_error;             ///< negative fixtures: the error that was seen
  std::optional<Tensor<Rational>> exact;  ///< the exact output [B, Hq, T, dv]
  std::vector<char> is_nan;               ///< elements that are NaN by the empty-row policy
  std::vector<CrossCheck> floats;         ///< one per check format
  std::optional<Tensor<Rational>> value;  ///< the operand [B, Hkv, S, dv]
  std::vector<SegmentExpectation> segment;
};

/// Checks one fixture against the exact engine, the second engine and the floats.
FixtureReport check_fixture(const Fixture& fixture);

/// Reads and checks a file: a positive fixture as above; a negative one passes exactly
/// if the expected error comes out. A file that cannot be read at all, or a positive
/// fixture that is malformed, throws InputError.
FixtureReport check_fixture_file(const std::filesystem::path& path);

/// The fixture files named, directories searched for *.json, by name, numbers by value.
/// Errors: InputError "file.not_found"; "fixture.none_found" if nothing is left.
std::vector<std::filesystem::path> find_fixtures(const std::vector<std::filesystem::path>& paths);

}  // namespace gqa
