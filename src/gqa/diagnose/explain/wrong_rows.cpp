#include "gqa/diagnose/explain/wrong_rows.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace gqa {
namespace {

// A permutation of [0, count) by reversed bits: the first, the middle one, the quarters, and so
// on. n runs over [0, 2 count); what is not below count is no member.
std::optional<std::size_t> nth_of_spread(std::size_t n, std::size_t count) {
  std::size_t bits = 0;
  while ((std::size_t{1} << bits) < count) ++bits;
  if (n >> bits != 0) return std::nullopt;
  std::size_t reversed = 0;
  for (std::size_t b = 0; b < bits; ++b) reversed |= (n >> b & 1) << (bits - 1 - b);
  return reversed < count ? std::optional(reversed) : std::nullopt;
}

}  // namespace

WrongRows::WrongRows(const AuditTally& tally, const Dimensions& dimensions)
    : batch_(dimensions.batch),
      heads_(dimensions.q_heads),
      queries_(dimensions.queries),
      elements_(tally.violations),
      rows_(tally.violating_rows),
      column_counts_(tally.column_violations) {
  for (const std::int64_t place : rows_.places()) {
    places_.push_back({place / queries_ / heads_, place / queries_ % heads_, place % queries_});
  }
}

std::vector<RowPlace> WrongRows::spread(std::size_t count) const {
  if (places_.size() <= count) return places_;
  constexpr std::int64_t tile = 64;
  // Rows of each (row tile, head, batch entry), and those strata in an order in which neighbours
  // differ in all three.
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::vector<RowPlace>> strata;
  for (const RowPlace& place : places_) {
    strata[{place.row / tile, place.head, place.batch}].push_back(place);
  }
  std::vector<const std::vector<RowPlace>*> order;
  for (const auto& [key, rows] : strata) order.push_back(&rows);
  std::vector<RowPlace> chosen;
  const std::size_t strata_count = order.size();
  for (std::size_t round = 0; chosen.size() < count; ++round) {
    for (std::size_t n = 0; (n >> 1) < strata_count && chosen.size() < count; ++n) {
      const auto s = nth_of_spread(n, strata_count);
      if (!s) continue;
      const std::vector<RowPlace>& rows = *order[*s];
      // Late rows first: they see most keys.
      const auto r = nth_of_spread(round, rows.size());
      if (r) chosen.push_back(rows[rows.size() - 1 - *r]);
    }
  }
  return chosen;
}

std::vector<RowPlace> WrongRows::right_ones(std::size_t count) const {
  std::vector<RowPlace> chosen;
  const auto add = [&](RowPlace place) {
    const bool exists = place.batch >= 0 && place.batch < batch_ && place.head >= 0 &&
                        place.head < heads_ && place.row >= 0 && place.row < queries_;
    if (!exists || chosen.size() >= count || contains(place)) return;
    if (std::ranges::find(chosen, place) == chosen.end()) chosen.push_back(place);
  };
  for (const RowPlace& wrong : spread(count / 4)) {
    for (const std::int64_t step : {1, -1}) {
      add({wrong.batch, wrong.head, wrong.row + step});
      add({wrong.batch, wrong.head + step, wrong.row});
      add({wrong.batch + step, wrong.head, wrong.row});
    }
  }
  const std::int64_t all = batch_ * heads_ * queries_;
  const auto asked = static_cast<std::int64_t>(2 * count);
  for (std::int64_t n = 0; n < asked; ++n) {
    // A step that is prime to most sizes meets all rows, heads and batch entries.
    const std::int64_t place = all <= asked ? n % all : (n * (all / asked) + n * 7919) % all;
    add({place / queries_ / heads_, place / queries_ % heads_, place % queries_});
  }
  return chosen;
}

}  // namespace gqa
