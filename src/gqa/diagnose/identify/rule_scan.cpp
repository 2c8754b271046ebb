#include "gqa/diagnose/identify/rule_scan.hpp"

#include <algorithm>

#include "gqa/diagnose/identify/row_sums.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa::identification {
namespace {

RangeRule rule_of(RangeKind kind, CausalAlignment alignment, std::int64_t number) {
  RangeRule rule;
  rule.alignment = alignment;
  switch (kind) {
    case RangeKind::all:
    case RangeKind::band:
      break;
    case RangeKind::causal:
      rule.causal = true;
      break;
    case RangeKind::causal_window:
      rule.causal = true;
      rule.window.left = number;
      break;
    case RangeKind::window_left:
      rule.window.left = number;
      break;
    case RangeKind::window_right:
      rule.window.right = number + 1;  // 0 is causal
      break;
    case RangeKind::window_both:
      rule.window = {number, number};
      break;
    case RangeKind::length:
      rule.length = number + 1;
      break;
    case RangeKind::causal_length:
      rule.causal = true;
      rule.length = number + 1;
      break;
  }
  return rule;
}

bool has_number(RangeKind kind) {
  return kind != RangeKind::all && kind != RangeKind::causal;
}

// Kinds that a row of this recording can have, each once over all alignments.
std::vector<RangeKind> kinds_of(const SearchRow& row, bool is_first) {
  std::vector<RangeKind> kinds{RangeKind::causal, RangeKind::causal_window, RangeKind::window_left,
                               RangeKind::window_right, RangeKind::window_both};
  if (!is_first) return kinds;
  kinds.push_back(RangeKind::all);
  if (!row.length_is_given) {
    kinds.push_back(RangeKind::length);
    if (row.queries > 1) kinds.push_back(RangeKind::causal_length);
  }
  return kinds;
}

// Does the rule hide anything from any of the rows that `without` shows?
bool hides_something(const RangeRule& rule, const RangeRule& without,
                     std::span<const SearchRow> rows) {
  return std::ranges::any_of(rows, [&](const SearchRow& row) {
    const KeyRange keys = keys_of(rule, row);
    const KeyRange all = keys_of(without, row);
    return keys.begin != all.begin || keys.end != all.end;
  });
}

ScannedRange best_of_kind(std::span<const SearchRow> rows, std::span<const RowSums> sums,
                          RangeKind kind, CausalAlignment alignment) {
  const std::int64_t count = has_number(kind) ? rows.front().keys() : 1;
  ScannedRange best{kind, {}, 2};
  RangeRule without = rule_of(kind, alignment, 0);
  without.window = {};
  without.length.reset();
  for (std::int64_t number = 0; number < count; ++number) {
    const RangeRule rule = rule_of(kind, alignment, number);
    double sum = 0;
    for (std::size_t r = 0; r < rows.size(); ++r) sum += sums[r].misfit(keys_of(rule, rows[r]));
    const double mean = sum / static_cast<double>(rows.size());
    if (!(mean < best.misfit)) continue;
    // A window that reaches beyond every key is none.
    if (has_number(kind) && !hides_something(rule, without, rows)) continue;
    best.rule = rule;
    best.misfit = mean;
  }
  return best;
}

}  // namespace

RangeKind kind_of(const RangeRule& rule) {
  const auto& [left, right] = rule.window;
  if (rule.length) {
    if (!rule.window.is_unbounded()) return RangeKind::band;
    if (!rule.causal) return RangeKind::length;
    const bool is_last = rule.alignment == CausalAlignment::bottom_right;
    return is_last ? RangeKind::causal_length : RangeKind::band;
  }
  if (rule.causal) {
    if (right > 0) return RangeKind::band;
    return left < 0 ? RangeKind::causal : RangeKind::causal_window;
  }
  if (left >= 0 && right >= 0) return left == right ? RangeKind::window_both : RangeKind::band;
  if (left >= 0) return RangeKind::window_left;
  return right >= 0 ? RangeKind::window_right : RangeKind::all;
}

std::vector<CausalAlignment> alignments_of(const SearchRow& row, CausalAlignment first) {
  std::vector<CausalAlignment> all{first};
  const auto position = [&row](CausalAlignment alignment) {
    RangeRule rule;
    rule.alignment = alignment;
    return position_of(rule, row);
  };
  for (const auto alignment :
       {CausalAlignment::bottom_right, CausalAlignment::top_left, CausalAlignment::onnx}) {
    const bool known = std::ranges::any_of(
        all, [&](CausalAlignment other) { return position(other) == position(alignment); });
    if (!known) all.push_back(alignment);
  }
  return all;
}

bool lengths_move_weights(std::span<const SearchRow> rows, const ScoreRule& score) {
  constexpr double most_exponentials = 4e6;
  if (rows.empty() || rows.front().length_is_given) return false;
  const auto keys = static_cast<double>(rows.front().keys());
  return score.slope.has_value() &&
         square(keys) * static_cast<double>(rows.size()) <= most_exponentials;
}

ScannedRange scan_lengths(std::span<const SearchRow> rows, const ScoreRule& score, RangeRule rule,
                          bool free_sink) {
  ScannedRange best{kind_of(rule), rule, 2};
  if (rows.empty()) return best;
  std::vector<RowSums> sums;
  for (std::int64_t length = rows.front().keys(); length > 0; --length) {
    rule.length = length;
    // Weights depend on positions through ALiBi alone, and positions on the length.
    if (sums.empty() || score.slope || rows.front().slope) {
      sums.clear();
      for (const SearchRow& row : rows) {
        sums.emplace_back(row, score, position_of(rule, row), free_sink);
      }
    }
    double sum = 0;
    for (std::size_t r = 0; r < rows.size(); ++r) sum += sums[r].misfit(keys_of(rule, rows[r]));
    const double mean = sum / static_cast<double>(rows.size());
    if (!(mean < best.misfit)) continue;
    best = {kind_of(rule), rule, mean};
  }
  return best;
}

std::vector<ScannedRange> scan_ranges(std::span<const SearchRow> rows, const ScoreRule& score,
                                      std::span<const CausalAlignment> alignments, bool free_sink) {
  std::vector<ScannedRange> found;
  if (rows.empty()) return found;
  std::vector<RowSums> sums;
  for (const CausalAlignment alignment : alignments) {
    // Weights depend on positions through ALiBi alone.
    const bool again = sums.empty() || score.slope || rows.front().slope;
    if (again) {
      sums.clear();
      for (const SearchRow& row : rows) {
        RangeRule rule;
        rule.alignment = alignment;
        sums.emplace_back(row, score, position_of(rule, row), free_sink);
      }
    }
    for (const RangeKind kind : kinds_of(rows.front(), alignment == alignments.front())) {
      const auto used =
          kind == RangeKind::causal_length ? CausalAlignment::bottom_right : alignment;
      found.push_back(best_of_kind(rows, sums, kind, used));
    }
  }
  return found;
}

}  // namespace gqa::identification
