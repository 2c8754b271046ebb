// What pooling heads changes: decisions, for people and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gqa/theory/pool_input.hpp"
#include "gqa/theory/weight_pooling.hpp"

namespace gqa {

/// The decision on one group of histories.
struct GroupDecision {
  std::int64_t batch = 0;
  std::int64_t kv_head = 0;
  std::optional<PoolingLoss> loss;
  RationalMatrix at_equal_scores;         ///< the exact loss of each head for a zero query
  std::optional<PoolingWitness> witness;  ///< a query in numbers, where one is of moderate size
  nlohmann::ordered_json certificate;
};

/// The decision on the projections of one group.
struct WeightDecision {
  std::optional<WeightPoolingLoss> loss;
  nlohmann::ordered_json certificate;
  std::string statement;  ///< what `check` says of the certificate, with its hypotheses
};

/// One question, and the answer of its kind; the others are empty.
struct PoolReport {
  std::string kind;  ///< "histories", "weights", "conversion" or "smallest"
  std::vector<GroupDecision> histories;
  std::vector<WeightDecision> weights;  ///< by KV head
  std::vector<RuleMatch> conversion;
  nlohmann::ordered_json smallest;

  /// Nothing is lost; the conversion is the mean of adjacent heads.
  bool holds() const;
};

/// Decides what the input asks. `kv_heads` is not read for a conversion.
/// Errors: those of groups_of, pooling_loss, weight_pooling_loss, identify_pooling.
PoolReport pool_report(const PoolInput& input, std::int64_t kv_heads, PooledPositions positions);

/// The smallest counterexamples for every (Hq, Hkv) up to a maximum, each decided anew.
/// Errors: InputError "pooling.max_heads" at "--smallest" beyond 1..64.
PoolReport smallest_report(std::int64_t max_heads);

std::string pool_text(const PoolReport& report);
/// "gqaverify.pool/1".
nlohmann::ordered_json pool_json(const PoolReport& report);

}  // namespace gqa
