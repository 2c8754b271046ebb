// Small hand-made audits.
#pragma once

#include <utility>
#include <vector>

#include "gqa/attention/attention_problem.hpp"
#include "gqa/audit/audit.hpp"
#include "support/typed.hpp"

namespace gqa::test {

/// One head, one row per entry of `output` rows: query [T, dk], key [S, dk], value [S, dv].
struct SmallProblem {
  std::int64_t queries = 1, keys = 1, key_size = 1, value_size = 1;
  ElementType type = ElementType::binary32;
  std::vector<double> query, key, value, output;
  std::vector<double> sink, slopes;   ///< [1] or empty
  std::vector<double> mask;           ///< float, [T, S] or empty
  std::vector<std::uint64_t> length;  ///< [1] or empty
  Contract contract;

  AttentionProblem problem() const {
    ProblemTensors t;
    t.query = tensor_of(type, {1, 1, queries, key_size}, query);
    t.key = tensor_of(type, {1, 1, keys, key_size}, key);
    t.value = tensor_of(type, {1, 1, keys, value_size}, value);
    t.output = tensor_of(type, {1, 1, queries, value_size}, output);
    if (!sink.empty()) t.sink = tensor_of(type, {1}, sink);
    if (!slopes.empty()) t.alibi_slopes = tensor_of(type, {1}, slopes);
    if (!mask.empty()) t.attn_mask = tensor_of(type, {queries, keys}, mask);
    if (!length.empty()) t.nonpad_kv_seqlen = tensor_of_bits(ElementType::int64, {1}, length);
    return make_problem(t, contract);
  }

  AuditResult audit(Tolerance tolerance = AbsoluteRelativeTolerance{}) const {
    AuditOptions options;
    options.tolerance = std::move(tolerance);
    options.largest_precision = 1024;
    return gqa::audit(problem(), options);
  }
};

/// Zero queries on (6, 0), (0, 12) and (0, 0): the output is exactly (2, 4), whatever the keys
/// are, and no ball of weights 1/3 is exact.
inline SmallProblem equal_scores() {
  SmallProblem p;
  p.keys = 3;
  p.key_size = 3;
  p.value_size = 2;
  p.query = {0, 0, 0};
  p.key = {1, 2, 3, -5, 0.25, 7, 1, 1, 1};
  p.value = {6, 0, 0, 12, 0, 0};
  p.output = {2, 4};
  return p;
}

}  // namespace gqa::test
