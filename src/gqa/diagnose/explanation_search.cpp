#include "gqa/diagnose/explanation_search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <numeric>

namespace gqa {
namespace {

// Rows of one case that a search compares, the wrong ones first.
struct Witnesses {
  std::vector<RowPlace> wrong;  // refute the declared contract
  std::vector<RowPlace> right;
};

Witnesses witnesses_of(const DiagnosisCase& problem, const SearchOptions& options,
                       std::int64_t limit) {
  const std::vector<RowPlace> places = places_of(problem.declared, limit);
  const std::int64_t keys = static_cast<std::int64_t>(places.size()) * problem.declared.keys();
  const bool enclose = keys <= options.largest_enclosed_keys;
  std::vector<char> right(places.size());
  tbb::parallel_for(std::size_t{0}, places.size(), [&](std::size_t i) {
    right[i] = matches_roughly(problem, problem.declared, places[i]) &&
                       (!enclose || !matches(problem, problem.declared, places[i]).certainly_not())
                   ? 1
                   : 0;
  });
  Witnesses witnesses;
  for (std::size_t i = 0; i < places.size(); ++i) {
    (right[i] != 0 ? witnesses.right : witnesses.wrong).push_back(places[i]);
  }
  return witnesses;
}

// The first few places of a list, spread over it.
std::vector<RowPlace> spread(const std::vector<RowPlace>& places, std::size_t count) {
  if (places.size() <= count) return places;
  std::vector<RowPlace> chosen;
  for (std::size_t i = 0; i < count; ++i) chosen.push_back(places[i * places.size() / count]);
  return chosen;
}

// Which of the sampled wrong rows a fault touches, case by case, as a bit set.
using Touched = std::vector<char>;

struct Candidate {
  Fault fault;
  Touched touched;
  bool touches_anything = false;
};

class Search {
 public:
  Search(std::span<const DiagnosisCase> cases, const SearchOptions& options)
      : cases_(cases), options_(options) {
    const std::int64_t keys =
        options.largest_compared_keys / static_cast<std::int64_t>(cases.size());
    for (const DiagnosisCase& problem : cases) {
      const std::int64_t of_row = std::max<std::int64_t>(problem.declared.keys(), 1);
      const std::int64_t rows = std::max<std::int64_t>(keys / of_row, fewest_rows);
      witnesses_.push_back(witnesses_of(problem, options, rows));
      std::vector<ExpectedRow>& sampled = sampled_.emplace_back();
      for (const RowPlace& place : spread(witnesses_.back().wrong, sampled_rows)) {
        sampled.emplace_back(problem, problem.declared, place);
      }
    }
  }

  SearchResult run(std::span<const Fault> extra) {
    collect_candidates(extra);
    SearchResult result;
    for (const auto& [size, coverage] :
         {std::pair{1, Coverage::all}, std::pair{2, Coverage::all}, std::pair{2, Coverage::part},
          std::pair{3, Coverage::all}}) {
      if (static_cast<std::size_t>(size) > options_.largest_set) break;
      auto sets = candidate_sets(static_cast<std::size_t>(size), coverage);
      if (static_cast<std::int64_t>(sets.size()) > options_.largest_candidates) {
        sets.resize(static_cast<std::size_t>(options_.largest_candidates));
        result.cut_short = true;
      }
      result.candidates += static_cast<std::int64_t>(sets.size());
      std::vector<std::optional<Explanation>> found(sets.size());
      tbb::parallel_for(std::size_t{0}, sets.size(),
                        [&](std::size_t i) { found[i] = explain(sets[i]); });
      for (auto& explanation : found) {
        if (explanation) add(result.explanations, std::move(*explanation));
      }
      if (!result.explanations.empty()) break;
    }
    prefer_named(result.explanations);
    return result;
  }

 private:
  // Does a set's every fault, tried alone, touch a row that is wrong? Two faults may empty a row
  // that either alone leaves as it is, so that pairs that leave some rows out are tried too.
  enum class Coverage { all, part };
  static constexpr std::size_t sampled_rows = 12;
  static constexpr std::int64_t fewest_rows = 64;
  // A fault may bring a row over the tolerance together with the rounding that was there: what
  // it adds alone is less than the tolerance.
  static constexpr double touching_share = 1.0 / 64;

  void collect_candidates(std::span<const Fault> extra) {
    std::vector<Fault> faults = all_faults();
    faults.insert(faults.end(), extra.begin(), extra.end());
    std::vector<std::optional<Candidate>> found(faults.size());
    tbb::parallel_for(std::size_t{0}, faults.size(),
                      [&](std::size_t i) { found[i] = candidate(faults[i]); });
    for (auto& entry : found) {
      if (entry && entry->touches_anything) candidates_.push_back(std::move(*entry));
    }
  }

  std::optional<Candidate> candidate(const Fault& fault) const {
    Candidate result{fault, {}, false};
    bool changed = false;
    for (std::size_t n = 0; n < cases_.size(); ++n) {
      Behaviour behaviour = cases_[n].declared;
      const Edit edit = fault.apply(behaviour);
      const bool edits = edit == Edit::changed || edit == Edit::saturated;
      changed = changed || edit == Edit::changed;
      for (const ExpectedRow& row : sampled_[n]) {
        const bool touches = edits && !row.is_same(behaviour, touching_share);
        result.touched.push_back(touches ? 1 : 0);
        result.touches_anything = result.touches_anything || result.touched.back() != 0;
      }
    }
    return changed ? std::optional(std::move(result)) : std::nullopt;
  }

  // Sets of candidates of different kinds that together touch every sampled wrong row, or those
  // that do not.
  std::vector<std::vector<std::size_t>> candidate_sets(std::size_t size, Coverage coverage) const {
    std::vector<std::vector<std::size_t>> sets;
    std::vector<std::size_t> chosen;
    const auto covers = [&] {
      const std::size_t rows = candidates_.empty() ? 0 : candidates_.front().touched.size();
      for (std::size_t r = 0; r < rows; ++r) {
        const bool touched = std::ranges::any_of(
            chosen, [&](std::size_t i) { return candidates_[i].touched[r] != 0; });
        if (!touched) return false;
      }
      return !chosen.empty();
    };
    const auto extend = [&](const auto& self, std::size_t from) -> void {
      if (chosen.size() == size) {
        if (covers() == (coverage == Coverage::all)) sets.push_back(chosen);
        return;
      }
      for (std::size_t i = from; i < candidates_.size(); ++i) {
        if (!chosen.empty() && candidates_[chosen.back()].fault.kind == candidates_[i].fault.kind) {
          continue;
        }
        chosen.push_back(i);
        self(self, i + 1);
        chosen.pop_back();
        if (static_cast<std::int64_t>(sets.size()) > options_.largest_candidates) return;
      }
    };
    extend(extend, 0);
    return sets;
  }

  std::optional<Explanation> explain(const std::vector<std::size_t>& set) const {
    Explanation explanation;
    for (const std::size_t i : set) explanation.faults.push_back(candidates_[i].fault);
    std::vector<Behaviour> behaviours;
    for (std::size_t n = 0; n < cases_.size(); ++n) {
      behaviours.push_back(edited(cases_[n].declared, explanation.faults));
      // The wrong rows alone reject nearly every set at once.
      for (const RowPlace& place : spread(witnesses_[n].wrong, sampled_rows)) {
        if (!matches_roughly(cases_[n], behaviours[n], place)) return std::nullopt;
      }
    }
    std::int64_t enclosed = 0;
    for (std::size_t n = 0; n < cases_.size(); ++n) {
      for (const auto* places : {&witnesses_[n].wrong, &witnesses_[n].right}) {
        for (const RowPlace& place : *places) {
          if (!matches_roughly(cases_[n], behaviours[n], place)) return std::nullopt;
          ++explanation.rows;
          if (enclosed > options_.largest_enclosed_keys) continue;
          if (!matches(cases_[n], behaviours[n], place).certainly()) return std::nullopt;
          enclosed += cases_[n].declared.keys();
          ++explanation.certified_rows;
        }
      }
    }
    return explanation;
  }

  // What the catalogue names needs no measurement beside it.
  static void prefer_named(std::vector<Explanation>& explanations) {
    const auto is_measured = [](const Explanation& explanation) {
      return std::ranges::any_of(explanation.faults,
                                 [](const Fault& fault) { return bool(fault.measured); });
    };
    if (!std::ranges::all_of(explanations, is_measured)) std::erase_if(explanations, is_measured);
  }

  // One explanation for each set of slugs: the first parameter stands for those that agree.
  static void add(std::vector<Explanation>& explanations, Explanation explanation) {
    const bool known = std::ranges::any_of(
        explanations, [&](const Explanation& other) { return other.same_slugs(explanation); });
    if (!known) explanations.push_back(std::move(explanation));
  }

  std::span<const DiagnosisCase> cases_;
  const SearchOptions& options_;
  std::vector<Witnesses> witnesses_;
  std::vector<std::vector<ExpectedRow>> sampled_;  // some wrong rows of each case, as declared
  std::vector<Candidate> candidates_;
};

}  // namespace

std::string Explanation::describe() const {
  std::vector<std::string> names;
  for (const Fault& fault : faults) names.push_back(fault.describe());
  return fmt::format("{}", fmt::join(names, " + "));
}

bool Explanation::same_slugs(const Explanation& other) const {
  return std::ranges::equal(faults, other.faults, {}, &Fault::kind, &Fault::kind);
}

Behaviour edited(const Behaviour& declared, std::span<const Fault> faults) {
  Behaviour behaviour = declared;
  for (const Fault& fault : faults) {
    Behaviour next = behaviour;
    if (fault.apply(next) != Edit::not_applicable) behaviour = std::move(next);
  }
  return behaviour;
}

std::vector<RowPlace> places_of(const Behaviour& behaviour, std::int64_t limit) {
  const std::int64_t total = behaviour.batch() * behaviour.query_heads() * behaviour.queries();
  const std::int64_t count = std::min(limit, total);
  std::vector<RowPlace> places;
  for (std::int64_t n = 0; n < count; ++n) {
    // Spread evenly; rows vary fastest, so that every head is met.
    const std::int64_t index =
        count == total ? n : n * total / count + (n * 7919) % (total / count);
    const std::int64_t row = index % behaviour.queries();
    const std::int64_t batch_head = index / behaviour.queries();
    places.push_back(
        {batch_head / behaviour.query_heads(), batch_head % behaviour.query_heads(), row});
  }
  return places;
}

SearchResult search_explanations(std::span<const DiagnosisCase> cases, std::span<const Fault> extra,
                                 const SearchOptions& options) {
  return Search(cases, options).run(extra);
}

}  // namespace gqa
