#include "gqa/diagnose/local/key_shares.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "gqa/diagnose/local/least_squares.hpp"
#include "gqa/diagnose/local/share_equations.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

constexpr std::size_t share_rows_asked = 24;
// What the best block must explain alone for its neighbourhood to be looked at: of a range of keys
// that is no aligned block, an aligned part of about half of it.
constexpr double worth_a_look = 0.2;
// And what all shares together must explain.
constexpr double most_share_left = 0.1;

// Key j's share is 1 - e_j.
struct Shares {
  std::vector<IndexRange> keys;
  std::vector<double> share;
  std::vector<double> error;
};

// Keys of `around`, in at most `most` pieces of one size.
std::vector<IndexRange> pieces_of(const IndexRange& around, std::int64_t most) {
  const std::int64_t count = around.last - around.first + 1;
  std::int64_t size = 1;
  while ((count + size - 1) / size > most) size *= 2;
  std::vector<IndexRange> pieces;
  for (std::int64_t first = around.first; first <= around.last; first += size) {
    pieces.push_back({first, std::min(first + size - 1, around.last)});
  }
  return pieces;
}

std::optional<Shares> shares_around(const std::vector<ShareRow>& rows, const IndexRange& around) {
  const std::size_t width = rows.front().left.size();
  const std::size_t equations = rows.size() * width;
  constexpr std::size_t most_unknowns = 192;
  const std::vector<IndexRange> pieces = pieces_of(
      around, static_cast<std::int64_t>(std::clamp<std::size_t>(equations / 4, 1, most_unknowns)));
  NormalEquations normal(pieces.size());
  std::vector<double> blocks(pieces.size() * width);
  std::vector<double> coefficients(pieces.size());
  for (const ShareRow& row : rows) {
    std::ranges::fill(blocks, 0);
    for (std::size_t n = 0; n < pieces.size(); ++n) {
      add_block(row, pieces[n].first, pieces[n].last, blocks.data() + n * width);
    }
    for (std::size_t c = 0; c < width; ++c) {
      for (std::size_t n = 0; n < pieces.size(); ++n) coefficients[n] = blocks[n * width + c];
      normal.add(coefficients.data(), row.left[c]);
    }
  }
  const auto solution = normal.solved();
  if (!solution || solution->residual_squares > most_share_left * solution->left_squares) {
    return std::nullopt;
  }
  Shares shares;
  for (std::size_t n = 0; n < pieces.size(); ++n) {
    shares.keys.push_back(pieces[n]);
    shares.share.push_back(1 - solution->values[n]);
    shares.error.push_back(solution->errors[n]);
  }
  return shares;
}

// A share that is certainly not one.
bool deviates(double share, double error) {
  constexpr double least = 0.2, deviations = 5;
  return std::abs(share - 1) > std::max(least, deviations * error);
}

// From the first to the last key that deviates; those between must agree in their share.
std::optional<KeyShare> common_share(const Shares& shares) {
  constexpr double deviations = 5, spread = 0.1;
  std::optional<std::size_t> first;
  std::size_t last = 0;
  double weighted = 0, weights = 0;
  for (std::size_t n = 0; n < shares.keys.size(); ++n) {
    if (!deviates(shares.share[n], shares.error[n])) continue;
    if (!first) first = n;
    last = n;
    const double weight = 1 / std::max(square(shares.error[n]), 1e-12);
    weighted += weight * shares.share[n];
    weights += weight;
  }
  if (!first) return std::nullopt;
  const double share = weighted / weights;
  for (std::size_t n = *first; n <= last; ++n) {
    const double room = std::max(spread, deviations * shares.error[n]);
    if (std::abs(shares.share[n] - share) > room) return std::nullopt;
  }
  return KeyShare{shares.keys[*first].first, shares.keys[last].last, share};
}

// 0 and 2 are what a loop over tiles does wrong.
double plain_share(double share) {
  constexpr double near = 0.03;
  for (const double whole : {0.0, 2.0}) {
    if (std::abs(share - whole) < near) return whole;
  }
  return share;
}

std::string verb_of(const Region& region, const char* one, const char* many) {
  const std::string place = describe_place(region);
  const bool is_one = place.starts_with("row ") || place.starts_with("query head ") ||
                      place.starts_with("batch entry ");
  return fmt::format("{} {}", place, is_one ? one : many);
}

std::string share_sentence(const KeyShare& keys, const Region& region) {
  const std::string what = describe_keys({keys.first, keys.last});
  const char* is = keys.first == keys.last ? "is" : "are";
  if (keys.share == 0) {
    if (describe_place(region).empty()) return fmt::format("{} {} never read", what, is);
    return fmt::format("{} {}", verb_of(region, "does not read", "do not read"), what);
  }
  const std::string plain = what.substr(0, what.find(" ("));
  if (keys.share == 2) return fmt::format("{} {} counted twice{}", plain, is, in_place(region));
  return fmt::format("{} {} {:.4g} times the weight that is theirs{}", plain,
                     keys.first == keys.last ? "has" : "have", keys.share, in_place(region));
}

Fault share_fault(const KeyShare& keys) {
  const FaultKind& kind = keys.share == 0   ? keys_skipped
                          : keys.share == 2 ? keys_counted_twice
                                            : keys_weighted;
  Fault fault{&kind, 0,
              [keys](Behaviour& behaviour) {
                behaviour.key_shares.push_back(keys);
                return Edit::changed;
              },
              describe_keys({keys.first, keys.last})};
  if (&kind == &keys_weighted) fault.measurement += fmt::format(", {:.4g} times", keys.share);
  return fault;
}

}  // namespace

std::string describe_keys(const IndexRange& keys) {
  if (keys.first == keys.last) return fmt::format("key {}", keys.first);
  const std::string text = fmt::format("keys {} to {}", keys.first, keys.last);
  const std::int64_t size = keys.last - keys.first + 1;
  const bool is_tile = size >= 16 && (size & (size - 1)) == 0 && keys.first % size == 0;
  return is_tile ? fmt::format("{} (a tile of {})", text, size) : text;
}

std::optional<Explanation> deviating_key_shares(const LocalEvidence& evidence) {
  if (evidence.region.columns) return std::nullopt;
  const std::vector<ShareRow> rows = share_rows(evidence, share_rows_asked);
  if (rows.empty()) return std::nullopt;
  const std::int64_t keys = evidence.problem.declared.keys();
  const auto best = BlockScores(rows, keys).smallest_good();
  if (!best || best->explained < worth_a_look) return std::nullopt;
  const IndexRange block = best->keys;
  const std::int64_t size = block.last - block.first + 1;
  // Of a range that is no aligned block the best one may be a small part.
  std::optional<Shares> shares;
  for (std::int64_t wide = size; !shares && wide <= 4 * size; wide *= 2) {
    shares = shares_around(rows, {std::max<std::int64_t>(block.first - wide, 0),
                                  std::min(block.last + wide, keys - 1)});
  }
  if (!shares) return std::nullopt;
  auto found = common_share(*shares);
  constexpr double below_zero = -0.1;  // by the errors of the fit at most
  if (!found || found->share < below_zero) return std::nullopt;
  found->share = plain_share(std::max(found->share, 0.0));
  Region part;
  part.keys = IndexSet{{{found->first, found->last}}};
  return confirmed_explanation(
      evidence, share_fault(*found), part,
      [keys = *found](const Region& region) { return share_sentence(keys, region); });
}

}  // namespace gqa
