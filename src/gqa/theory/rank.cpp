#include "gqa/theory/rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

#include "gqa/num/arithmetic.hpp"
#include "gqa/theory/rank_bounds.hpp"
#include "gqa/theory/rank_witness.hpp"

namespace gqa {
namespace {

constexpr int attempts = 4;

std::int64_t count(std::size_t n) {
  return static_cast<std::int64_t>(n);
}

// The rank of the best of a few witnesses; stops at one that reaches the bound.
std::int64_t best_rank(std::int64_t upper, const std::function<ModularMatrix(int)>& witness) {
  std::int64_t best = 0;
  for (int attempt = 0; attempt < attempts && best < upper; ++attempt) {
    best = std::max(best, count(witness(attempt).rank()));
  }
  return best;
}

class RankProver {
 public:
  RankProver(const RankConfiguration& configuration, std::uint64_t seed)
      : c_(configuration), seed_(seed) {}

  RankReport run() {
    for (const std::int64_t histories : {std::int64_t{1}, c_.group_size}) {
      dictionary(dictionary_bound(c_, histories, c_.value_size, c_.constant_column), histories,
                 c_.value_size, c_.constant_column, "integers");
    }
    outputs();
    head_axis();
    // Unit vectors as queries: then the scores are the keys themselves.
    for (const std::int64_t histories : {std::int64_t{1}, c_.group_size}) {
      dictionary(key_axis_bound(c_, histories), histories, c_.key_size, false,
                 "queries are unit vectors, keys integers");
    }
    return {c_, std::move(ranks_), rank_prime, seed_};
  }

 private:
  // Histories side by side.
  void dictionary(GenericRank rank, std::int64_t histories, std::int64_t size, bool constant,
                  const char* witness) {
    rank.quantity += histories == 1 ? ", shared" : ", one history per head";
    rank.witness = witness;
    const std::int64_t rows = std::min(c_.positions, rank.upper + 16);
    rank.lower = best_rank(rank.upper, [&](int attempt) {
      std::mt19937_64 engine(seed_ + extent(attempt));
      return random_dictionary(extent(rows), histories, size, constant, engine);
    });
    ranks_.push_back(std::move(rank));
  }

  void outputs() {
    GenericRank stacked = stacked_bound(c_, true);
    std::optional<GenericRank> summed;
    if (c_.model_size) summed = summed_bound(c_);
    find_outputs(stacked, summed);
    GenericRank own = stacked_bound(c_, false);
    own.lower = stacked.lower;
    own.witness = "that of shared values, every head with a copy";
    if (!own.proved() && c_.tied) find_own_outputs(own);
    ranks_.push_back(stacked);
    ranks_.push_back(own);
    if (summed) ranks_.push_back(*summed);
  }

  std::string output_witness() const {
    return c_.softmax_reachable ? "queries are logarithms of integers; keys and values integers; "
                                  "projections of unit vectors"
                                : "strengths and values integers; projections of unit vectors";
  }

  // Each attempt serves both.
  void find_outputs(GenericRank& stacked, std::optional<GenericRank>& summed) {
    stacked.witness = output_witness();
    if (summed) summed->witness = output_witness();
    for (int attempt = 0; attempt < attempts; ++attempt) {
      if (stacked.proved() && (!summed || summed->proved())) return;
      const auto all = RankWitness(c_, seed_ + extent(attempt)).stacked_outputs(rows(attempt));
      if (!all) continue;
      const std::int64_t rank = count(all->columns(projected_columns(c_)).rank());
      stacked.lower = std::max(stacked.lower, rank);
      if (!summed) continue;
      const bool same = summed_columns(c_) == projected_columns(c_);
      summed->lower =
          std::max(summed->lower, same ? rank : count(all->columns(summed_columns(c_)).rank()));
    }
  }

  // Heads with one pattern and histories of their own are one head with more coordinates.
  void find_own_outputs(GenericRank& own) {
    RankConfiguration wide = c_;
    wide.value_size = c_.value_size * c_.group_size;
    wide.group_size = 1;
    own.witness = output_witness();
    own.lower = best_rank(own.upper, [&](int attempt) {
      const auto all = RankWitness(wide, seed_ + extent(attempt)).stacked_outputs(rows(attempt));
      return all ? all->columns(own_history_columns(c_)) : ModularMatrix(0, 0);
    });
  }

  void head_axis() {
    GenericRank rank = head_axis_bound(c_);
    rank.witness = "queries and keys integers";
    rank.lower = best_rank(rank.upper, [&](int attempt) {
      std::mt19937_64 engine(seed_ + extent(attempt));
      // As many queries and keys of the history as can matter.
      const std::size_t n = extent(std::min(c_.positions, c_.group_size));
      const ModularMatrix keys = random_dictionary(n, 1, c_.key_size, false, engine);
      ModularMatrix scores(extent(c_.group_size), n * n);
      for (std::size_t h = 0; h < scores.rows(); ++h) {
        const ModularMatrix queries = random_dictionary(n, 1, c_.key_size, false, engine);
        const ModularMatrix product = queries * keys.transposed();
        for (std::size_t i = 0; i < n; ++i) {
          std::ranges::copy(product.row(i), scores.row(h).subspan(i * n).begin());
        }
      }
      return scores;
    });
    ranks_.push_back(rank);
  }

  // The last rows see most; a witness that fell short is tried with all of them.
  std::vector<std::size_t> rows(int attempt) const {
    const std::int64_t enough = std::min(c_.positions, c_.group_size * c_.value_size + 16);
    const std::int64_t first = attempt == 0 ? c_.positions - enough : 0;
    std::vector<std::size_t> result(extent(c_.positions - first));
    std::iota(result.begin(), result.end(), extent(first));
    return result;
  }

  RankConfiguration c_;
  std::uint64_t seed_;
  std::vector<GenericRank> ranks_;
};

}  // namespace

bool RankReport::proved() const {
  return !ranks.empty() && std::ranges::all_of(ranks, &GenericRank::proved);
}

RankReport generic_ranks(const RankConfiguration& configuration, std::uint64_t seed) {
  validate(configuration);
  return RankProver(configuration, seed).run();
}

}  // namespace gqa
