// Generic ranks and the ranks of recorded groups, for people and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gqa/theory/rank.hpp"
#include "gqa/theory/trained_rank.hpp"

namespace gqa {

/// The groups of one recording.
struct RecordedRanks {
  std::string path;
  std::vector<GroupRank> groups;
};

/// Everything is certified, and there is something.
bool certified(const std::vector<RecordedRanks>& recordings);

std::string rank_text(const RankReport& report);
std::string rank_text(const std::vector<RecordedRanks>& recordings);

/// "gqaverify.rank/1": "configuration" and "ranks", or "recordings".
nlohmann::ordered_json rank_json(const RankReport& report);
nlohmann::ordered_json rank_json(const std::vector<RecordedRanks>& recordings);

/// The decimal digits that both ends of an enclosure share, at most `most` of them behind the
/// point: "4.1273508"; "?" if there are none.
std::string certain_digits(const Ball& x, int most = 10);

}  // namespace gqa
