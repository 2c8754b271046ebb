// The rules that a search varies, and a row under them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gqa/diagnose/identify/search_rows.hpp"

namespace gqa::identification {

/// Which keys a row sees, in a contract's words.
struct RangeRule {
  bool causal = false;
  CausalAlignment alignment = CausalAlignment::bottom_right;
  Window window = {};
  std::optional<std::int64_t> length = {};  ///< of the batch entry, where the recording states none

  friend bool operator==(const RangeRule&, const RangeRule&) = default;
};

/// The position of a row, and the keys [begin, end) that it sees.
std::int64_t position_of(const RangeRule& rule, const SearchRow& row);
KeyRange keys_of(const RangeRule& rule, const SearchRow& row);

/// How scores become weights.
struct ScoreRule {
  double scale = 1;
  double curvature = 0;         ///< 1 / softcap^2; 0: no softcap
  std::optional<double> slope;  ///< of ALiBi, where the recording states none
  std::optional<double> sink;   ///< exp of a sink's logit, where the recording states none
};

/// The scores of all keys of a row, hidden ones at minus infinity.
std::vector<double> scores_of(const ScoreRule& rule, const SearchRow& row, std::int64_t position);

struct Hypothesis {
  RangeRule range;
  ScoreRule score;
  double misfit = 1;  ///< see misfit()
};

/// The output of a row in the given columns; empty where it sees no key.
std::vector<double> output_of(const Hypothesis& hypothesis, const SearchRow& row,
                              std::span<const std::size_t> columns);

/// The mean over rows of the squared distance of the recorded row from the hypothesis' one, over
/// the square of the recorded row: 0 fits, and a row that has nothing in common counts 1 at most.
double misfit(const Hypothesis& hypothesis, std::span<const SearchRow> rows);

/// At most `count` columns of `all`, evenly spread.
std::vector<std::size_t> spread_columns(std::size_t all, std::size_t count);

}  // namespace gqa::identification
