#include "gqa/diagnose/local/region_rules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <map>

#include "gqa/diagnose/explain/range_ends.hpp"
#include "gqa/diagnose/measure/measurement.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

// May such a fault be confined to that region? Lengths belong to whole batch entries, layouts to
// the whole problem: in some rows or heads they only imitate what happens there.
bool may_be_confined(const FaultKind& kind, const Region& region) {
  if (family(kind) == "layout") return !region.rows && !region.heads && !region.batch;
  return family(kind) != "length" || (!region.rows && !region.heads);
}

// "causal.missing in query head 5 alone".
SentenceOfRegion alone(const std::string& what) {
  return [what](const Region& region) {
    const std::string place = in_place(region);
    return place.empty() ? what : what + place + " alone";
  };
}

std::vector<RowPlace> of_head(const LocalEvidence& evidence, std::int64_t head) {
  constexpr std::size_t most = 3;
  std::vector<RowPlace> places;
  for (const RowPlace& place : evidence.wrong.places()) {
    if (place.head == head) places.push_back(place);
  }
  return spread_out(places, most);
}

// Which of the two a mistaken head map moves.
enum class Reads { both, keys, values };

Behaviour reading(const Behaviour& declared, std::int64_t head, std::int64_t kv, Reads reads) {
  Behaviour trial = declared;
  if (reads != Reads::values) trial.key_head[extent(head)] = kv;
  if (reads != Reads::keys) trial.value_head[extent(head)] = kv;
  return trial;
}

// The KV head that fits each wrong head's rows; nullopt if one fits none.
std::optional<std::map<std::int64_t, std::int64_t>> fitting_map(const LocalEvidence& evidence,
                                                                Reads reads) {
  const Behaviour& b = evidence.problem.declared;
  std::map<std::int64_t, std::int64_t> map;
  for (std::int64_t head = 0; head < b.query_heads(); ++head) {
    const std::vector<RowPlace> places = of_head(evidence, head);
    if (places.empty()) continue;
    for (std::int64_t kv = 0; kv < b.key.head_count() && !map.contains(head); ++kv) {
      if (kv == b.key_head[extent(head)]) continue;
      const Behaviour trial = reading(b, head, kv, reads);
      const bool fits = std::ranges::all_of(places, [&](const RowPlace& place) {
        return matches_roughly(evidence.problem, trial, place);
      });
      if (fits) map[head] = kv;
    }
    if (!map.contains(head)) return std::nullopt;
  }
  return map;
}

// "query heads 4 to 7 read KV head 0; query head 8 reads KV head 1".
std::string map_words(const std::map<std::int64_t, std::int64_t>& map, Reads reads) {
  std::map<std::int64_t, std::vector<std::int64_t>> readers;
  for (const auto& [head, kv] : map) readers[kv].push_back(head);
  const char* what = reads == Reads::keys     ? "the keys of "
                     : reads == Reads::values ? "the values of "
                                              : "";
  std::vector<std::string> parts;
  for (const auto& [kv, heads] : readers) {
    parts.push_back(fmt::format("{} {} {}KV head {}",
                                numbered({"query head", "query heads"}, heads),
                                heads.size() == 1 ? "reads" : "read", what, kv));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string keys_too_many(std::int64_t more) {
  const std::int64_t count = std::abs(more);
  return fmt::format("{} key{} too {}", count == 1 ? "one" : fmt::format("{}", count),
                     count == 1 ? "" : "s", more < 0 ? "few" : "many");
}

// "one key too few at the diagonal in rows of odd tiles of 64".
std::string range_words(const LocalEvidence& evidence, const Fault& fault) {
  Behaviour trial = evidence.problem.declared;
  fault.apply(trial);
  const Contract& contract = trial.contract;
  const auto& [first, last] = *trial.range_override;
  if (fault.kind == &moved_diagonal) {
    return fmt::format("{} at the diagonal", keys_too_many(last));
  }
  if (fault.kind == &moved_window_right && contract.window.right >= 0) {
    return fmt::format("{} at the window's right end", keys_too_many(last - contract.window.right));
  }
  if (fault.kind == &moved_window_left && contract.window.left >= 0) {
    return fmt::format("{} at the window's left end", keys_too_many(-first - contract.window.left));
  }
  return fault.describe();
}

}  // namespace

std::vector<Explanation> rules_of_region(const LocalEvidence& evidence, Deadline deadline) {
  std::vector<Fault> candidates;
  for (const Fault& fault : all_faults()) {
    if (!is_narrow_sum(*fault.kind)) candidates.push_back(fault);
  }
  // Of rules that do the same here the plainest comes first.
  std::ranges::stable_partition(
      candidates, [](const Fault& fault) { return fault.kind->slug.ends_with(".missing"); });
  std::vector<char> fits(candidates.size(), 0);
  tbb::parallel_for(std::size_t{0}, candidates.size(), [&](std::size_t n) {
    if (std::chrono::steady_clock::now() > deadline) return;
    Behaviour trial = evidence.problem.declared;
    const Edit edit = candidates[n].apply(trial);
    if (edit != Edit::changed && edit != Edit::saturated) return;
    fits[n] = witnesses_match(evidence, trial, evidence.witnesses.size()) ? 1 : 0;
  });
  std::vector<Explanation> found;
  constexpr std::size_t most_confirmed = 3;
  std::size_t asked = 0;
  for (std::size_t n = 0; n < candidates.size() && asked < most_confirmed; ++n) {
    const bool is_told = std::ranges::any_of(found, [&](const Explanation& other) {
      return other.faults.front().kind == candidates[n].kind;
    });
    if (fits[n] == 0 || is_told) continue;
    ++asked;
    auto one = confirmed_explanation(evidence, candidates[n], {}, alone(candidates[n].describe()));
    if (one && may_be_confined(*candidates[n].kind, one->region)) found.push_back(std::move(*one));
  }
  return found;
}

std::optional<Explanation> other_heads(const LocalEvidence& evidence) {
  if (evidence.problem.declared.key.head_count() < 2 || evidence.region.columns) {
    return std::nullopt;
  }
  for (const Reads reads : {Reads::both, Reads::keys, Reads::values}) {
    const auto map = fitting_map(evidence, reads);
    if (!map) continue;
    const auto edit = [map = *map, reads](Behaviour& behaviour) {
      for (const auto& [head, kv] : map) behaviour = reading(behaviour, head, kv, reads);
      return Edit::changed;
    };
    Behaviour trial = evidence.problem.declared;
    edit(trial);
    const auto& heads = reads == Reads::values ? trial.value_head : trial.key_head;
    const Fault fault{&measured_head_map, 0, edit, fmt::format("{}", fmt::join(heads, ","))};
    const std::string words = map_words(*map, reads);
    auto found = confirmed_explanation(evidence, fault, {}, [&](const Region& region) {
      Region elsewhere = region;
      elsewhere.heads.reset();
      return words + in_place(elsewhere);
    });
    if (!found) continue;
    if (!found->region.heads) {
      std::vector<std::int64_t> touched;
      for (const auto& [head, kv] : *map) touched.push_back(head);
      constexpr std::size_t most_ranges = 4;
      found->region.heads = covering_set(touched, evidence.wrong.heads(), most_ranges, false);
    }
    return found;
  }
  return std::nullopt;
}

void tell_moved_heads(const Behaviour& declared, Explanation& explanation) {
  if (explanation.faults.size() != 1 || family(*explanation.faults.front().kind) != "head_map") {
    return;
  }
  const Behaviour found = edited(declared, explanation.faults);
  if (found.key_head.size() != declared.key_head.size()) return;
  std::map<std::int64_t, std::int64_t> map;
  std::vector<std::int64_t> heads;
  for (std::size_t h = 0; h < declared.key_head.size(); ++h) {
    if (found.key_head[h] == declared.key_head[h] && found.value_head[h] == declared.value_head[h])
      continue;
    if (found.key_head[h] != found.value_head[h]) return;
    heads.push_back(static_cast<std::int64_t>(h));
    map[heads.back()] = found.key_head[h];
  }
  const auto is_first = [&](const auto& entry) { return entry.second == map.begin()->second; };
  if (map.empty() || !std::ranges::all_of(map, is_first)) return;
  const auto range = covering_set(heads, declared.query_heads(), 1, false);
  if (!range || std::ssize(range->indices(declared.query_heads())) != std::ssize(heads)) return;
  explanation.region.heads = range;
  explanation.faults.front().sentence = map_words(map, Reads::both);
}

std::optional<Explanation> lost_rescale(const LocalEvidence& evidence) {
  constexpr std::array<std::int64_t, 5> tiles{64, 128, 32, 16, 256};
  for (const std::int64_t tile : tiles) {
    const Fault fault{&accumulator_not_rescaled, 0,
                      [tile](Behaviour& behaviour) {
                        behaviour.softmax = SoftmaxForm::accumulator_not_rescaled;
                        behaviour.block = tile;
                        return Edit::changed;
                      },
                      fmt::format("tiles of {} keys", tile)};
    auto found = confirmed_explanation(evidence, fault, {}, [tile](const Region& region) {
      const std::string place = describe_place(region);
      return fmt::format(
          "{}keys before the last growth of the maximum have another factor in the numerator than "
          "in the denominator (the accumulator of tiles of {} keys is not rescaled)",
          place.empty() ? "" : place + ": ", tile);
    });
    if (found) return found;
  }
  return std::nullopt;
}

std::optional<Explanation> measured_in_region(const LocalEvidence& evidence) {
  const std::vector<RowPlace> wrong = evidence.witnesses;
  for (const Fault& fault : moved_range_ends(evidence.problem, wrong)) {
    auto found = confirmed_explanation(evidence, fault, {}, [&](const Region& region) {
      return range_words(evidence, fault) + in_place(region);
    });
    if (found) return found;
  }
  for (const Fault& fault : measured_scales(evidence.problem, wrong)) {
    auto found = confirmed_explanation(evidence, fault, {}, alone(fault.sentence));
    if (found) return found;
  }
  return std::nullopt;
}

}  // namespace gqa
