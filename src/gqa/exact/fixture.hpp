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
#include "gqa/exact/rotary.hpp"

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

/// Query and key as stated, before their rotary embedding. Position ids are [B, T] and [B, S].
struct RotaryOperands {
  std::vector<RationalRotation> rotations;  ///< one per pair of coordinates
  RotaryPairs pairs = RotaryPairs::halves;
  Tensor<std::int64_t> query_position_ids;
  Tensor<std::int64_t> key_position_ids;
  Tensor<LogRational> query;  ///< [B, Hq, T, dk]
  Tensor<Rational> key;       ///< [B, Hkv, S, dk]
};

/// Attention over parts of the keys, put together again (split-KV).
struct MergeExpectation {
  std::vector<std::int64_t> splits;       ///< the first keys of all parts but the first
  std::vector<Tensor<Rational>> outputs;  ///< [B, Hq, T, dv] of every part alone, without sink
  std::vector<Tensor<Rational>> shares;   ///< [B, Hq, T, 1]: exp(LSE of the part - LSE of all)
};

/// Keys [B, H, N, dk] and values [B, H, N, dv] of H heads, projected from a layer's input.
struct ProjectedHistory {
  Tensor<Rational> key;
  Tensor<Rational> value;
};

/// The same input and queries on keys and values by other weights.
struct LayerExpectation {
  ProjectedHistory history;
  ExpectedTensor output;
  bool equal = false;  ///< to that of the fixture's own weights
};

/// Gradients of sum(grad_output * output).
struct GradientExpectation {
  Tensor<Rational> grad_output;                       ///< [B, Hq, T, dv]
  std::optional<Tensor<Rational>> grad_scaled_query;  ///< [B, Hq, T, dk]
  std::optional<Tensor<LogRational>> grad_key;        ///< [B, Hkv, S, dk]
  Tensor<Rational> grad_value;                        ///< [B, Hkv, S, dv]
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
  Problem<GmpNumbers> problem;  ///< query and key with their rotary embedding
  std::optional<RotaryOperands> rotary;
  std::optional<Tensor<Rational>>
      layer_input;  ///< [B, N, D], of which query, key and value are made
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
  std::vector<LayerExpectation> other_layers;
  std::vector<std::int64_t> position_shifts;  ///< added to all positions, they change nothing
  std::vector<MergeExpectation> merged;
  std::vector<std::int64_t> tile_sizes;  ///< of online softmax, which gives the same outputs
  std::optional<GradientExpectation> gradients;
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
  bool malformed = false;                 ///< could not be read: `failures` says why
  bool passed = false;                    ///< false until everything expected was seen
  std::vector<std::string> failures;      ///< one sentence each
  std::vector<std::string> also_checked;  ///< what was checked beside output and weights
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
