#include "gqa/diagnose/local/local_evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "gqa/diagnose/explain/refutation.hpp"
#include "gqa/diagnose/local/region_audit.hpp"

namespace gqa {
namespace {

constexpr std::size_t most_witnesses = 16;
constexpr std::size_t most_right = 64;

// Right rows that a wider region has and the narrower one has not.
std::vector<RowPlace> rows_between(const LocalEvidence& evidence, const Region& narrow,
                                   const Region& wide) {
  std::vector<RowPlace> places;
  const auto add = [&](const RowPlace& place) {
    if (wide.has_row(place) && !narrow.has_row(place) && !evidence.wrong.contains(place)) {
      places.push_back(place);
    }
  };
  for (const RowPlace& place : evidence.right) add(place);
  // And some of its own, since the region may be a small part of the output.
  constexpr std::int64_t asked = 5;
  const Behaviour& b = evidence.problem.declared;
  for (const RowPlace& witness : evidence.witnesses) {
    for (std::int64_t n = 0; n < asked; ++n) {
      add({witness.batch, witness.head, (b.queries() - 1) * n / (asked - 1)});
      add({witness.batch, (b.query_heads() - 1) * n / (asked - 1), witness.row});
    }
    for (std::int64_t batch = 0; batch < b.batch(); ++batch) {
      add({batch, witness.head, witness.row});
    }
    if (places.size() > most_right) break;
  }
  return places;
}

bool rows_match(const DiagnosisCase& problem, const Behaviour& behaviour,
                const std::vector<RowPlace>& places) {
  return std::ranges::all_of(
      places, [&](const RowPlace& place) { return matches_roughly(problem, behaviour, place); });
}

// Rows at an end of a range that do not show the fault, up to where a tile begins or ends.
void round_to_tiles(const LocalEvidence& evidence, const Behaviour& behaviour, Region& region) {
  if (!region.rows || region.rows->pattern || region.rows->ranges.size() != 1) return;
  constexpr std::array<std::int64_t, 4> tiles{128, 64, 32, 16};
  constexpr std::int64_t nearest = 8;  // of a tile: rows that do not show it are few
  const std::int64_t rows = evidence.problem.declared.queries();
  const IndexRange range = region.rows->ranges.front();
  for (const std::int64_t tile : tiles) {
    const IndexRange rounded{range.first / tile * tile,
                             std::min((range.last / tile + 1) * tile, rows) - 1};
    if (rounded == range) return;
    if (range.first - rounded.first > tile / nearest ||
        rounded.last - range.last > tile / nearest) {
      continue;
    }
    Region wide = region;
    wide.rows = IndexSet{{rounded}};
    const RowPlace& witness = evidence.witnesses.front();
    std::vector<RowPlace> places;
    for (std::int64_t row = rounded.first; row <= rounded.last; ++row) {
      if (row < range.first || row > range.last)
        places.push_back({witness.batch, witness.head, row});
    }
    if (!rows_match(evidence.problem, behaviour, places)) continue;
    region = wide;
    return;
  }
}

Region widened_region(const LocalEvidence& evidence, const Behaviour& behaviour) {
  Region region = evidence.region;
  region.columns.reset();
  for (const auto axis : {&Region::rows, &Region::heads, &Region::batch}) {
    if (!(region.*axis)) continue;
    Region wide = region;
    (wide.*axis).reset();
    const std::vector<RowPlace> between = rows_between(evidence, region, wide);
    if (rows_match(evidence.problem, behaviour, between)) region = wide;
  }
  round_to_tiles(evidence, behaviour, region);
  return region;
}

// Its allowance must not be so wide that anything fits.
bool says_something(const LocalEvidence& evidence, const Behaviour& behaviour) {
  constexpr std::size_t asked = 6;
  Refutation refutation;
  for (const RowPlace& place : spread_out(evidence.witnesses, asked)) {
    const auto declared =
        evaluate_row<double>(evidence.problem.declared, place.batch, place.head, place.row);
    refutation.add(compare_roughly(evidence.problem, behaviour, place), declared);
  }
  return refutation.says_something();
}

}  // namespace

LocalEvidence local_evidence(const DiagnosisCase& problem, const WrongRows& wrong) {
  return {problem, wrong, region_of(wrong), wrong.spread(most_witnesses),
          wrong.right_ones(most_right)};
}

bool witnesses_match(const LocalEvidence& evidence, const Behaviour& behaviour, std::size_t count) {
  const auto& all = evidence.witnesses;
  return std::all_of(
      all.begin(), all.begin() + std::ssize(std::span(all).first(std::min(count, all.size()))),
      [&](const RowPlace& place) { return matches_roughly(evidence.problem, behaviour, place); });
}

std::optional<Explanation> confirmed_explanation(const LocalEvidence& evidence, const Fault& fault,
                                                 const Region& part,
                                                 const SentenceOfRegion& sentence) {
  const Behaviour behaviour = edited(evidence.problem.declared, std::span(&fault, 1));
  if (!witnesses_match(evidence, behaviour, evidence.witnesses.size())) return std::nullopt;
  if (!says_something(evidence, behaviour)) return std::nullopt;
  Region narrow = evidence.region;
  narrow.columns.reset();
  Region region = widened_region(evidence, behaviour);
  Confirmation confirmation = confirmed_in_region(evidence.problem, behaviour, region);
  if (!confirmation.holds && !(region == narrow)) {
    // Some right row that was not asked contradicts the wider one.
    region = narrow;
    confirmation = confirmed_in_region(evidence.problem, behaviour, region);
  }
  if (!confirmation.holds) return std::nullopt;
  region.keys = part.keys;
  region.columns = part.columns;
  Explanation explanation;
  explanation.faults = {fault};
  explanation.faults.front().sentence = sentence(region);
  explanation.rows = confirmation.rows;
  explanation.certified_rows = confirmation.certified_rows;
  explanation.tolerance = evidence.problem.tolerance;
  explanation.region = region;
  return explanation;
}

std::string in_place(const Region& region) {
  const std::string place = describe_place(region);
  return place.empty() ? "" : " in " + place;
}

}  // namespace gqa
