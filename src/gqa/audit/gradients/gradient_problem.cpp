#include "gqa/audit/gradients/gradient_problem.hpp"

#include <algorithm>

#include "gqa/attention/seen_keys.hpp"

namespace gqa {
namespace {

bool sees_nothing(const AttentionProblem& problem, const RowIndex& at) {
  const KeyRange range = problem.visibility.range(at.batch, at.row);
  for (std::int64_t j = std::max<std::int64_t>(range.begin, 0); j < range.end; ++j) {
    if (problem.visibility.mask_allows(at.batch, at.head, at.row, j)) return false;
  }
  return true;
}

}  // namespace

std::string_view name(GradientKind kind) {
  switch (kind) {
    case GradientKind::query:
      return "grad_query";
    case GradientKind::key:
      return "grad_key";
    case GradientKind::value:
      return "grad_value";
  }
  return "?";
}

std::vector<std::int64_t> GradientProblem::group_of(std::int64_t kv_head) const {
  std::vector<std::int64_t> heads;
  for (std::size_t h = 0; h < problem.head_map.size(); ++h) {
    if (problem.head_map[h] == kv_head) heads.push_back(static_cast<std::int64_t>(h));
  }
  return heads;
}

KeyRange GradientProblem::seen_keys(std::int64_t batch) const {
  return gqa::seen_keys(problem, batch);
}

Rational GradientProblem::factor(std::int64_t group_size) const {
  Rational result = rule.negated ? -1 : 1;
  if (rule.averaged && group_size > 0) result /= Rational(static_cast<long>(group_size));
  return result;
}

std::optional<RowIndex> find_empty_row(const AttentionProblem& problem) {
  const Dimensions& d = problem.dimensions;
  for (std::int64_t b = 0; b < d.batch; ++b) {
    for (std::int64_t h = 0; h < d.q_heads; ++h) {
      if (problem.sink_of(h)) continue;
      for (std::int64_t i = 0; i < d.queries; ++i) {
        if (sees_nothing(problem, {b, h, i})) return RowIndex{b, h, i};
      }
    }
  }
  return std::nullopt;
}

}  // namespace gqa
