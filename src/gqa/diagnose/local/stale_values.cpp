#include "gqa/diagnose/local/stale_values.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "gqa/diagnose/local/key_shares.hpp"
#include "gqa/diagnose/local/share_equations.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

constexpr std::size_t stale_rows_asked = 8;
constexpr double most_stale_left = 0.1;

// Where values come from: that many keys later, and from another KV head or batch entry.
struct Source {
  std::int64_t keys_later = 0;
  std::int64_t heads_later = 0;
  std::int64_t batch_later = 0;
};

struct Candidate {
  IndexRange keys;
  Source source;
  double left = 1;  // of the sum of squares
};

bool exists(const Behaviour& b, const Source& source, const IndexRange& keys) {
  return keys.first + source.keys_later >= 0 && keys.last + source.keys_later < b.keys();
}

// The row of values that a place reads under a candidate.
OperandRow source_row(const Behaviour& b, const RowPlace& place, const Source& source,
                      std::int64_t key) {
  const std::int64_t heads = b.value.head_count();
  const std::int64_t head = (b.value_head[extent(place.head)] + source.heads_later) % heads;
  return b.value_row((place.batch + source.batch_later) % b.batch(), head, key + source.keys_later);
}

double left_after(const Behaviour& b, const std::vector<ShareRow>& rows, const IndexRange& keys,
                  const Source& source) {
  double left = 0, all = 0;
  std::vector<double> rest;
  for (const ShareRow& row : rows) {
    rest = row.left;
    for (std::size_t k = 0; k < row.keys.size(); ++k) {
      const auto key = static_cast<std::int64_t>(row.keys[k]);
      if (key < keys.first || key > keys.last) continue;
      const OperandRow values = source_row(b, row.place, source, key);
      for (std::size_t c = 0; c < rest.size(); ++c) {
        rest[c] -= row.weights[k] * (row.values[k][c] - values[static_cast<std::int64_t>(c)]);
      }
    }
    for (std::size_t c = 0; c < rest.size(); ++c) {
      left += square(rest[c]);
      all += square(row.left[c]);
    }
  }
  return all > 0 ? left / all : 1;
}

std::vector<Source> sources_of(const Behaviour& b, const IndexRange& keys, std::int64_t size) {
  std::vector<Source> sources;
  for (std::int64_t first = keys.first % size; first + size <= b.keys(); first += size) {
    if (first != keys.first) sources.push_back({first - keys.first, 0, 0});
  }
  for (std::int64_t h = 1; h < b.value.head_count(); ++h) sources.push_back({0, h, 0});
  for (std::int64_t n = 1; n < b.batch(); ++n) sources.push_back({0, 0, n});
  return sources;
}

Candidate best_candidate(const Behaviour& b, const std::vector<ShareRow>& rows) {
  constexpr std::array<std::int64_t, 5> sizes{128, 64, 32, 16, 1};
  constexpr std::size_t blocks = 4;
  std::vector<Candidate> candidates;
  const BlockScores scores(rows, b.keys());
  for (const std::int64_t size : sizes) {
    if (size > b.keys()) continue;
    for (const BlockScore& block : scores.best(blocks, size)) {
      for (const Source& source : sources_of(b, block.keys, size)) {
        if (exists(b, source, block.keys)) candidates.push_back({block.keys, source});
      }
    }
  }
  // One row refutes nearly all.
  const std::vector<ShareRow> one(rows.begin(), rows.begin() + 1);
  tbb::parallel_for(std::size_t{0}, candidates.size(), [&](std::size_t n) {
    candidates[n].left = left_after(b, one, candidates[n].keys, candidates[n].source);
  });
  constexpr std::size_t kept = 16;
  std::ranges::sort(candidates, {}, &Candidate::left);
  if (candidates.size() > kept) candidates.resize(kept);
  Candidate best;
  for (Candidate& candidate : candidates) {
    candidate.left = left_after(b, rows, candidate.keys, candidate.source);
    if (candidate.left < best.left) best = candidate;
  }
  return best;
}

// Neighbours that take their values from as far away.
IndexRange extended(const Behaviour& b, const std::vector<ShareRow>& rows, Candidate best) {
  const std::int64_t size = best.keys.last - best.keys.first + 1;
  for (bool grows = true; grows;) {
    grows = false;
    for (const IndexRange wider : {IndexRange{best.keys.first - size, best.keys.last},
                                   IndexRange{best.keys.first, best.keys.last + size}}) {
      if (wider.first < 0 || wider.last >= b.keys() || !exists(b, best.source, wider)) continue;
      const double left = left_after(b, rows, wider, best.source);
      if (left >= best.left / 2) continue;
      best = {wider, best.source, left};
      grows = true;
    }
  }
  return best.keys;
}

// The values as an implementation has them that reads them so.
OperandView with_stale_rows(const OperandView& values, const IndexRange& keys,
                            const Source& source) {
  OperandView stale = values;
  const auto old = values.heads.front().data;
  auto data = std::make_shared<std::vector<double>>(*old);
  for (std::int64_t b = 0; b < values.batch; ++b) {
    for (std::int64_t h = 0; h < values.head_count(); ++h) {
      for (std::int64_t j = keys.first; j <= keys.last; ++j) {
        for (std::int64_t c = 0; c < values.width; ++c) {
          const std::int64_t to = values.heads[extent(h)].index(b, j, c);
          (*data)[extent(to)] =
              values.at((b + source.batch_later) % values.batch,
                        (h + source.heads_later) % values.head_count(), j + source.keys_later, c);
        }
      }
    }
  }
  for (HeadRows& head : stale.heads) head.data = data;
  return stale;
}

std::string stale_words(const IndexRange& keys, const Source& source) {
  const IndexRange from{keys.first + source.keys_later, keys.last + source.keys_later};
  const char* take = keys.first == keys.last ? "takes" : "take";
  const IndexRange own = keys;
  const auto plain = [](const IndexRange& range) {
    return range.first == range.last ? fmt::format("key {}", range.first)
                                     : fmt::format("keys {} to {}", range.first, range.last);
  };
  if (source.heads_later != 0) {
    return fmt::format("{} {} the values of the KV head {} further", plain(own), take,
                       source.heads_later);
  }
  if (source.batch_later != 0) {
    return fmt::format("{} {} the values of another batch entry", plain(own), take);
  }
  return fmt::format("{} {} the values of {}", plain(own), take, plain(from));
}

}  // namespace

std::optional<Explanation> stale_values(const LocalEvidence& evidence) {
  const Behaviour& b = evidence.problem.declared;
  // Rows in memory as they are, all in one buffer.
  if (evidence.region.columns || b.past() > 0 || b.value.row_divisor != 1) return std::nullopt;
  const std::vector<ShareRow> rows = share_rows(evidence, stale_rows_asked);
  if (rows.empty()) return std::nullopt;
  const Candidate best = best_candidate(b, rows);
  if (best.left > most_stale_left) return std::nullopt;
  const IndexRange keys = extended(b, rows, best);
  const std::string words = stale_words(keys, best.source);
  Fault fault{&values_stale, 0,
              [keys, source = best.source](Behaviour& behaviour) {
                behaviour.value = with_stale_rows(behaviour.value, keys, source);
                return Edit::changed;
              },
              words};
  Region part;
  part.keys = IndexSet{{keys}};
  return confirmed_explanation(evidence, fault, part,
                               [words](const Region& region) { return words + in_place(region); });
}

}  // namespace gqa
