#include "gqa/diagnose/identify/rule_scan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "gqa/num/arithmetic.hpp"

namespace gqa::identification {
namespace {

constexpr std::size_t scanned_columns = 8;

// Prefix sums of one row.
class RowSums {
 public:
  RowSums(const SearchRow& row, const ScoreRule& score, std::int64_t position, bool free_sink)
      : free_sink_(free_sink) {
    const std::vector<std::size_t> columns = spread_columns(row.columns(), scanned_columns);
    width_ = columns.size();
    for (const std::size_t c : columns) {
      target_[target_size_++] = row.output[c];
      square_ += square(row.output[c]);
    }
    const std::vector<double> scores = scores_of(score, row, position);
    double largest = row.sink.value_or(-std::numeric_limits<double>::infinity());
    for (const double one : scores) largest = std::max(largest, one);
    if (std::isfinite(largest)) {
      sink_ = row.sink ? std::exp(*row.sink - largest) : 0;
      if (score.sink) sink_ += *score.sink * std::exp(-largest);
    }
    weights_.assign(scores.size() + 1, 0.0);
    values_.assign((scores.size() + 1) * width_, 0.0);
    for (std::size_t j = 0; j < scores.size(); ++j) {
      const double weight = std::isfinite(largest) ? std::exp(scores[j] - largest) : 0;
      weights_[j + 1] = weights_[j] + weight;
      const double* from = row.history->values.data() + j * row.columns();
      for (std::size_t c = 0; c < width_; ++c) {
        values_[(j + 1) * width_ + c] = values_[j * width_ + c] + weight * from[columns[c]];
      }
    }
  }

  double misfit(const KeyRange& keys) const {
    if (keys.empty()) return 1;
    if (!(square_ > 0)) return 0;
    const auto begin = extent(keys.begin);
    const auto end = extent(keys.end);
    const double total = weights_[end] - weights_[begin] + sink_;
    if (!(total > 0)) return 1;
    const double* low = values_.data() + begin * width_;
    const double* high = values_.data() + end * width_;
    double products = 0, squares = 0;
    for (std::size_t c = 0; c < width_; ++c) {
      const double output = (high[c] - low[c]) / total;
      products += output * target_[c];
      squares += square(output);
    }
    // |t - f o|^2 = |t|^2 - 2 f o.t + f^2 |o|^2, least at f = o.t / |o|^2; a sink has f below 1.
    const double least = squares > 0 ? std::clamp(products / squares, 0.0, 1.0) : 0;
    const double factor = free_sink_ ? least : 1;
    const double share = (square_ - 2 * factor * products + square(factor) * squares) / square_;
    return share < 1 ? std::max(share, 0.0) : 1;
  }

 private:
  bool free_sink_;
  std::size_t width_ = 0;
  std::size_t target_size_ = 0;
  std::array<double, scanned_columns> target_{};
  double square_ = 0;
  double sink_ = 0;
  std::vector<double> weights_;
  std::vector<double> values_;
};

RangeRule rule_of(RangeKind kind, CausalAlignment alignment, std::int64_t number) {
  RangeRule rule;
  rule.alignment = alignment;
  switch (kind) {
    case RangeKind::all:
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
