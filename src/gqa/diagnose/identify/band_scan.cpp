#include "gqa/diagnose/identify/band_scan.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "gqa/diagnose/identify/row_sums.hpp"

namespace gqa::identification {
namespace {

// Bounds of j - i, and of j.
struct Band {
  std::optional<std::int64_t> lowest = {};
  std::optional<std::int64_t> highest = {};
  std::optional<std::int64_t> length = {};
};

KeyRange keys_of(const Band& band, const SearchRow& row) {
  KeyRange keys{0, std::min(row.length, band.length.value_or(row.length))};
  if (band.lowest) keys.begin = std::max(keys.begin, row.place.row + *band.lowest);
  if (band.highest) keys.end = std::min(keys.end, row.place.row + *band.highest + 1);
  return keys;
}

class BandScan {
 public:
  BandScan(std::span<const SearchRow> rows, const ScoreRule& score, bool free_sink) : rows_(rows) {
    RangeRule last;
    last.alignment = CausalAlignment::bottom_right;
    for (const SearchRow& row : rows) {
      sums_.emplace_back(row, score, position_of(last, row), free_sink);
    }
  }

  template <class Rule>
  double misfit(const Rule& rule) const {
    double sum = 0;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      sum += sums_[r].misfit(keys_of(rule, rows_[r]));
    }
    return sum / static_cast<double>(rows_.size());
  }

  // From no bound on, in this order of bounds.
  Band best(std::array<std::optional<std::int64_t> Band::*, 3> order) const {
    constexpr int rounds = 4;
    Band band;
    double least = misfit(band);
    for (int round = 0; round < rounds; ++round) {
      const double before = least;
      for (const auto bound : order) improve(band, bound, least);
      if (!(least < before)) break;
    }
    return band;
  }

 private:
  void improve(Band& band, std::optional<std::int64_t> Band::*bound, double& least) const {
    const std::int64_t keys = rows_.front().keys();
    const bool is_length = bound == &Band::length;
    if (is_length && rows_.front().length_is_given) return;
    Band tried = band;
    const auto take = [&](std::optional<std::int64_t> number) {
      tried.*bound = number;
      const double found = misfit(tried);
      if (!(found < least)) return;
      least = found;
      band = tried;
    };
    take(std::nullopt);
    for (std::int64_t n = is_length ? 1 : 1 - rows_.front().queries; n < keys; ++n) take(n);
  }

  std::span<const SearchRow> rows_;
  std::vector<RowSums> sums_;
};

// The band in a contract's words, positions counting from `offset`; nullopt if it has none.
std::optional<RangeRule> rule_of(const Band& band, CausalAlignment alignment, std::int64_t offset,
                                 std::optional<std::int64_t> length) {
  RangeRule rule;
  rule.alignment = alignment;
  rule.length = length;
  if (band.lowest) rule.window.left = offset - *band.lowest;
  if (band.highest) rule.window.right = *band.highest - offset;
  const bool is_one =
      (!band.lowest || rule.window.left >= 0) && (!band.highest || rule.window.right >= 0);
  if (!is_one) return std::nullopt;
  if (rule.window.right == 0) {
    rule.causal = true;
    rule.window.right = -1;
  }
  return rule;
}

std::vector<RangeRule> rules_of(const Band& band, const SearchRow& row,
                                std::span<const CausalAlignment> alignments) {
  std::vector<RangeRule> rules;
  const auto add = [&](std::optional<RangeRule> rule) {
    if (rule && !is_simple(*rule)) rules.push_back(*rule);
  };
  if (!band.length) {
    for (const CausalAlignment alignment : alignments) {
      RangeRule plain;
      plain.alignment = alignment;
      add(rule_of(band, alignment, position_of(plain, row) - row.place.row, std::nullopt));
    }
  }
  if (row.length_is_given) return rules;
  const auto from = [&](std::int64_t length) {
    if (length < 1 || length > row.keys()) return;
    add(rule_of(band, CausalAlignment::bottom_right, length - row.queries, length));
    add(rule_of(band, CausalAlignment::top_left, 0, length));
  };
  if (band.length) from(*band.length);
  // A causal band hides what lies beyond its length.
  if (band.highest) from(*band.highest + row.queries);
  return rules;
}

}  // namespace

std::vector<ScannedRange> scan_bands(std::span<const SearchRow> rows, const ScoreRule& score,
                                     std::span<const CausalAlignment> alignments, bool free_sink) {
  std::vector<ScannedRange> found;
  if (rows.empty()) return found;
  const BandScan scan(rows, score, free_sink);
  for (const auto& order : {std::array{&Band::highest, &Band::lowest, &Band::length},
                            std::array{&Band::lowest, &Band::highest, &Band::length},
                            std::array{&Band::length, &Band::lowest, &Band::highest}}) {
    for (const RangeRule& rule : rules_of(scan.best(order), rows.front(), alignments)) {
      found.push_back({RangeKind::band, rule, scan.misfit(rule)});
    }
  }
  std::ranges::stable_sort(found, {}, &ScannedRange::misfit);
  return found;
}

}  // namespace gqa::identification
