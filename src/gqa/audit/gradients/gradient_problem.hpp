// What the gradients of a recorded backward pass are to be compared with.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "gqa/attention/attention_problem.hpp"

namespace gqa {

// g++ takes a scoped enumerator for a shadow of a member's name.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
enum class GradientKind { query, key, value };
#pragma GCC diagnostic pop

/// "grad_query", "grad_key", "grad_value".
std::string_view name(GradientKind kind);

/// A reference other than the right one, for asking what a wrong gradient is.
struct GradientRule {
  /// Only the query head of that place in its group (0: the first) counts for key and value.
  std::optional<std::int64_t> only_member = {};
  /// Divides by the number of query heads of the group.
  bool averaged = false;
  /// The gradients of query and key lack the scale.
  bool scale_missing = false;
  /// All gradients have the other sign.
  bool negated = false;

  bool operator==(const GradientRule&) const = default;
};

/// One backward pass of the problem. Gradients are those of sum(grad_output * output) +
/// sum(grad_lse * lse) by the real-valued query, key and value; past keys and values are constants,
/// an empty row has no gradient, a sink takes part through the weights alone.
struct GradientProblem {
  const AttentionProblem& problem;
  StridedTensor grad_output;                   ///< [B, Hq, T, dv]
  std::optional<StridedTensor> grad_lse = {};  ///< [B, Hq, T, 1]; nullopt: zero
  /// Unit roundoff and underflow of the coarsest format among output, grad_output and the
  /// recorded gradients: in which an implementation may keep what it hands on.
  double storage_roundoff = 0;
  double storage_underflow = 0;
  GradientRule rule = {};

  double grad_lse_of(std::int64_t batch_entry, std::int64_t head, std::int64_t row) const {
    return grad_lse ? grad_lse->value(batch_entry, head, row, 0) : 0;
  }
  std::int64_t batch() const { return problem.dimensions.batch; }
  std::int64_t kv_heads() const { return problem.dimensions.kv_heads; }
  std::int64_t queries() const { return problem.dimensions.queries; }
  std::int64_t past() const { return problem.dimensions.past; }
  /// The query heads that read a KV head, rising: its group.
  std::vector<std::int64_t> group_of(std::int64_t kv_head) const;
  /// The keys that some row of a batch entry may see, as one range: gradients of others are
  /// zero. Masks are not asked.
  KeyRange seen_keys(std::int64_t batch) const;
  /// What rule multiplies the gradient by, without the missing scale, for a group of that size.
  Rational factor(std::int64_t group_size) const;
  /// Does the query head of that place in its group count for key and value?
  bool counts(std::int64_t member) const {
    return !rule.only_member || *rule.only_member == member;
  }
};

/// A row without a visible key and without a sink; nullopt: there is none.
struct RowIndex {
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t row = 0;
};
std::optional<RowIndex> find_empty_row(const AttentionProblem& problem);

}  // namespace gqa
