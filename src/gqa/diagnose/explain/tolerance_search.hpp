// The search for explanations under one tolerance.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "gqa/diagnose/explain/explanation.hpp"

namespace gqa {

/// Which sets of faults a step of the search tries.
struct SearchStep {
  /// Which of the sampled wrong rows do the faults of a set touch, each tried alone?
  enum class Coverage {
    all,     ///< together, every one
    part,    ///< not every one: two faults may empty a row that either alone leaves as it is
    silent,  ///< pairs of a fault that touches some and one that alone touches none
  };
  std::size_t size = 1;
  Coverage coverage = Coverage::all;
  bool with_narrow_sum = false;  ///< sets that hold a sum of few bits, or sets that do not
};

/// The rows and candidate faults of some cases under one tolerance.
class ToleranceSearch {
 public:
  /// `cases`: with that tolerance.
  ToleranceSearch(std::vector<DiagnosisCase> cases, const Measurement& measure,
                  const SearchOptions& options);

  /// All explanations of that step, one for each set of slugs, joined to `result`.
  void run(const SearchStep& step, SearchResult& result);

  /// Squares of the distances from the recorded elements of the rows that are compared first.
  std::vector<double> squared_distances(const Explanation& explanation) const;

 private:
  // Rows of one case that a search compares, the wrong ones first.
  struct Witnesses {
    std::vector<RowPlace> wrong;  // refute the declared contract
    std::vector<RowPlace> right;
  };
  struct Candidate {
    Fault fault;
    std::vector<char> touched = {};  // which of the sampled wrong rows, case by case
    bool touches_anything = false;
    bool moves_right_rows = false;  // some right row would be wrong: not among three
  };
  using Set = std::vector<std::size_t>;

  Witnesses witnesses_of(const DiagnosisCase& problem, std::int64_t limit) const;
  void collect_candidates(const Measurement& measure);
  std::optional<Candidate> candidate(const Fault& fault) const;
  // What a set of one need not know.
  void read_touched_rows();
  void read_touched_rows(Candidate& candidate) const;
  bool is_late() const { return std::chrono::steady_clock::now() > options_.deadline; }
  std::vector<Set> sets_of(const SearchStep& step) const;
  // How many sets one step may try.
  std::int64_t affordable_sets() const;
  std::vector<Set> silent_pairs(const SearchStep& step) const;
  bool covers(const Set& set) const;
  bool belongs(const Set& set, const SearchStep& step) const;
  // `said_nothing`: set where every row fits all the same.
  std::optional<Explanation> explain(const Set& set, char& said_nothing) const;
  bool matches_everywhere(const std::vector<Behaviour>& behaviours, Explanation& explanation) const;

  std::vector<DiagnosisCase> cases_;
  SearchOptions options_;
  std::vector<Witnesses> witnesses_;
  std::vector<std::vector<ExpectedRow>> sampled_;  // some wrong rows of each case, as declared
  std::vector<std::vector<ExpectedRow>> right_;    // some right rows, where an audit knows them
  std::vector<Candidate> candidates_;
  bool touched_known_ = false;
};

}  // namespace gqa
