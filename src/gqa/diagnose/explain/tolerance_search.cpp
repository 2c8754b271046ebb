#include "gqa/diagnose/explain/tolerance_search.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>

#include "gqa/diagnose/explain/refutation.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

constexpr std::size_t tried_first = 12;
constexpr std::int64_t fewest_rows = 64;
// Where an audit has found every wrong row, and another one confirms what is found.
constexpr std::size_t audited_sample = 48;
constexpr std::size_t right_sampled = 4;
// A fault may bring a row over the tolerance together with the rounding that was there: what
// it adds alone is less than the tolerance.
constexpr double touching_share = 1.0 / 64;

// One explanation for each set of slugs: the first parameter stands for those that agree.
void join_explanation(std::vector<Explanation>& explanations, Explanation explanation) {
  const bool known = std::ranges::any_of(
      explanations, [&](const Explanation& other) { return other.same_slugs(explanation); });
  if (!known) explanations.push_back(std::move(explanation));
}

}  // namespace

ToleranceSearch::ToleranceSearch(std::vector<DiagnosisCase> cases, const Measurement& measure,
                                 const SearchOptions& options)
    : cases_(std::move(cases)), options_(options) {
  const std::int64_t keys =
      options.largest_compared_keys / static_cast<std::int64_t>(cases_.size());
  for (const DiagnosisCase& problem : cases_) {
    const std::int64_t of_row = std::max<std::int64_t>(problem.declared.keys(), 1);
    witnesses_.push_back(witnesses_of(problem, std::max<std::int64_t>(keys / of_row, fewest_rows)));
    std::vector<ExpectedRow>& right = right_.emplace_back();
    if (problem.audited) {
      for (const RowPlace& place : spread_out(witnesses_.back().right, right_sampled)) {
        right.emplace_back(problem, problem.declared, place);
      }
    }
    std::vector<ExpectedRow>& sampled = sampled_.emplace_back();
    for (const RowPlace& place : spread_out(witnesses_.back().wrong, tried_first)) {
      sampled.emplace_back(problem, problem.declared, place);
    }
  }
  collect_candidates(measure);
}

ToleranceSearch::Witnesses ToleranceSearch::witnesses_of(const DiagnosisCase& problem,
                                                         std::int64_t limit) const {
  if (problem.audited) {
    return {problem.audited->spread(audited_sample), problem.audited->right_ones(audited_sample)};
  }
  std::vector<RowPlace> places = places_of(problem.declared, limit);
  for (const RowPlace& suspect : problem.suspects) {
    if (std::ranges::find(places, suspect) == places.end()) places.push_back(suspect);
  }
  const std::int64_t keys = static_cast<std::int64_t>(places.size()) * problem.declared.keys();
  const bool enclose = keys <= options_.largest_enclosed_keys;
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

void ToleranceSearch::collect_candidates(const Measurement& measure) {
  std::vector<Fault> faults = all_faults();
  if (measure) {
    const std::vector<Fault> measured = measure(cases_);
    faults.insert(faults.end(), measured.begin(), measured.end());
  }
  std::vector<std::optional<Candidate>> found(faults.size());
  tbb::parallel_for(std::size_t{0}, faults.size(),
                    [&](std::size_t i) { found[i] = candidate(faults[i]); });
  for (auto& entry : found) {
    if (entry) candidates_.push_back(std::move(*entry));
  }
}

std::optional<ToleranceSearch::Candidate> ToleranceSearch::candidate(const Fault& fault) const {
  const bool changed = std::ranges::any_of(cases_, [&](const DiagnosisCase& problem) {
    Behaviour behaviour = problem.declared;
    return fault.apply(behaviour) == Edit::changed;
  });
  return changed ? std::optional(Candidate{fault}) : std::nullopt;
}

void ToleranceSearch::read_touched_rows(Candidate& candidate) const {
  for (std::size_t n = 0; n < cases_.size(); ++n) {
    Behaviour behaviour = cases_[n].declared;
    const Edit edit = candidate.fault.apply(behaviour);
    const bool edits = edit == Edit::changed || edit == Edit::saturated;
    for (const ExpectedRow& row : sampled_[n]) {
      const bool touches = edits && !row.is_same(behaviour, touching_share);
      candidate.touched.push_back(touches ? 1 : 0);
      candidate.touches_anything = candidate.touches_anything || touches;
    }
    for (const ExpectedRow& row : right_[n]) {
      candidate.moves_right_rows = candidate.moves_right_rows || (edits && !row.is_same(behaviour));
    }
  }
}

void ToleranceSearch::read_touched_rows() {
  if (touched_known_) return;
  touched_known_ = true;
  tbb::parallel_for(std::size_t{0}, candidates_.size(), [&](std::size_t i) {
    if (is_late()) return;
    read_touched_rows(candidates_[i]);
  });
}

bool ToleranceSearch::covers(const Set& set) const {
  for (std::size_t r = 0; r < candidates_[set.front()].touched.size(); ++r) {
    const bool touched =
        std::ranges::any_of(set, [&](std::size_t i) { return candidates_[i].touched[r] != 0; });
    if (!touched) return false;
  }
  return true;
}

bool ToleranceSearch::belongs(const Set& set, const SearchStep& step) const {
  const bool narrow = std::ranges::any_of(
      set, [this](std::size_t i) { return is_narrow_sum(*candidates_[i].fault.kind); });
  return narrow == step.with_narrow_sum;
}

// Sets of candidates of different kinds, each of which touches something.
std::vector<ToleranceSearch::Set> ToleranceSearch::sets_of(const SearchStep& step) const {
  if (step.coverage == SearchStep::Coverage::silent) return silent_pairs(step);
  std::vector<Set> sets;
  Set chosen;
  // A set of one that does not touch every wrong row fails at the first that it leaves as it is.
  for (std::size_t i = 0; step.size == 1 && i < candidates_.size(); ++i) {
    if (belongs({i}, step)) sets.push_back({i});
  }
  if (step.size == 1) return sets;
  const auto extend = [&](const auto& self, std::size_t from) -> void {
    if (chosen.size() == step.size) {
      if (belongs(chosen, step) && covers(chosen) == (step.coverage == SearchStep::Coverage::all)) {
        sets.push_back(chosen);
      }
      return;
    }
    for (std::size_t i = from; i < candidates_.size(); ++i) {
      // Two faults may undo each other in right rows (a mask ignored where the causal rule that was
      // not declared hides the same keys); of three that is not tried.
      const bool is_left_out = step.size > 2 && candidates_[i].moves_right_rows;
      if (!candidates_[i].touches_anything || is_left_out ||
          (!chosen.empty() && candidates_[chosen.back()].fault.kind == candidates_[i].fault.kind)) {
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

// A fault may show only where another one has cleared the way: causal keys of a mask that is
// ignored.
std::vector<ToleranceSearch::Set> ToleranceSearch::silent_pairs(const SearchStep& step) const {
  std::vector<Set> sets;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    for (std::size_t j = i + 1; j < candidates_.size(); ++j) {
      const Set pair{i, j};
      if (candidates_[i].touches_anything != candidates_[j].touches_anything &&
          candidates_[i].fault.kind != candidates_[j].fault.kind && belongs(pair, step)) {
        sets.push_back(pair);
      }
    }
  }
  return sets;
}

// By the mean row of all cases: one wrong row refutes nearly every set.
std::int64_t ToleranceSearch::affordable_sets() const {
  constexpr std::int64_t fewest = 500;
  std::int64_t work = 0;
  for (const DiagnosisCase& problem : cases_) {
    const Behaviour& b = problem.declared;
    work += b.keys() * (b.key_size() + b.value_size());
  }
  const std::int64_t row = std::max<std::int64_t>(work / std::ssize(cases_), 1);
  return std::min(std::max(options_.largest_work / row, fewest), options_.largest_candidates);
}

void ToleranceSearch::run(const SearchStep& step, SearchResult& result) {
  if (step.size > 1) read_touched_rows();
  if (is_late()) {
    result.cut_short = true;
    return;
  }
  std::vector<Set> sets = sets_of(step);
  if (const std::int64_t most = affordable_sets(); static_cast<std::int64_t>(sets.size()) > most) {
    sets.resize(extent(most));
    result.cut_short = true;
  }
  result.candidates += static_cast<std::int64_t>(sets.size());
  std::vector<std::optional<Explanation>> found(sets.size());
  std::vector<char> said_nothing(sets.size(), 0);
  tbb::parallel_for(std::size_t{0}, sets.size(),
                    [&](std::size_t i) { found[i] = explain(sets[i], said_nothing[i]); });
  result.cut_short = result.cut_short || is_late();
  const auto is_set = [](char flag) { return flag != 0; };
  // One set that says something is enough: the tolerance is not too wide for all.
  result.said_nothing = std::ranges::any_of(said_nothing, is_set) &&
                        std::ranges::none_of(found, [](const auto& one) { return bool(one); });
  for (auto& explanation : found) {
    if (explanation) join_explanation(result.explanations, std::move(*explanation));
  }
}

// The sampled wrong rows alone reject nearly every set at once.
std::optional<Explanation> ToleranceSearch::explain(const Set& set, char& said_nothing) const {
  if (is_late()) return std::nullopt;
  Explanation explanation;
  explanation.tolerance = cases_.front().tolerance;
  for (const std::size_t i : set) explanation.faults.push_back(candidates_[i].fault);
  std::vector<Behaviour> behaviours;
  Refutation refutation;
  for (std::size_t n = 0; n < cases_.size(); ++n) {
    behaviours.push_back(edited(cases_[n].declared, explanation.faults));
    for (const ExpectedRow& row : sampled_[n]) {
      if (!matches_roughly(cases_[n], behaviours[n], row.place())) return std::nullopt;
    }
  }
  for (std::size_t n = 0; n < cases_.size(); ++n) {
    for (const ExpectedRow& row : sampled_[n]) {
      refutation.add(compare_roughly(cases_[n], behaviours[n], row.place()), row.row());
    }
  }
  const bool says_something = refutation.says_something();
  // Under a model, another hypothesis has another allowance and may say something.
  const bool has_model = std::holds_alternative<ModelTolerance>(explanation.tolerance);
  if (!says_something && has_model) return std::nullopt;
  if (!matches_everywhere(behaviours, explanation)) return std::nullopt;
  said_nothing = says_something ? 0 : 1;
  return says_something ? std::optional(std::move(explanation)) : std::nullopt;
}

bool ToleranceSearch::matches_everywhere(const std::vector<Behaviour>& behaviours,
                                         Explanation& explanation) const {
  std::int64_t enclosed = 0;
  for (std::size_t n = 0; n < cases_.size(); ++n) {
    for (const auto* places : {&witnesses_[n].wrong, &witnesses_[n].right}) {
      for (const RowPlace& place : *places) {
        if (!matches_roughly(cases_[n], behaviours[n], place)) return false;
        ++explanation.rows;
        // What an audit knows, another audit confirms.
        if (cases_[n].audited || enclosed > options_.largest_enclosed_keys) continue;
        if (!matches(cases_[n], behaviours[n], place).certainly()) return false;
        enclosed += cases_[n].declared.keys();
        ++explanation.certified_rows;
      }
    }
  }
  return true;
}

std::vector<double> ToleranceSearch::squared_distances(const Explanation& explanation) const {
  constexpr std::size_t most_rows = 256;
  std::vector<double> squares;
  for (std::size_t n = 0; n < cases_.size(); ++n) {
    const Behaviour behaviour = edited(cases_[n].declared, explanation.faults);
    for (const RowPlace& place : spread_out(witnesses_[n].wrong, most_rows)) {
      for (const double distance : distances(behaviour, place)) {
        squares.push_back(square(distance));
      }
    }
  }
  return squares;
}

}  // namespace gqa
