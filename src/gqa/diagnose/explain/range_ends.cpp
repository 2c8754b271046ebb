#include "gqa/diagnose/explain/range_ends.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "gqa/diagnose/evaluate/row_keys.hpp"
#include "gqa/diagnose/explain/explanation_search.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

// Far beyond any history, and far from where sums of indices overflow.
constexpr std::int64_t far = std::int64_t{1} << 40;

struct Ends {
  std::int64_t first = -far;  // relative to the row's position
  std::int64_t last = far;
};

Ends declared_ends(const Contract& contract) {
  Ends ends;
  if (contract.window.left >= 0) ends.first = -contract.window.left;
  if (contract.window.right >= 0) ends.last = contract.window.right;
  if (contract.causal) ends.last = std::min<std::int64_t>(ends.last, 0);
  return ends;
}

// How far a row is from the recorded one, by where one end of its range lies. Sums over the keys
// are extended by one key at a time, from the end that stays.
class EndCosts {
 public:
  EndCosts(const DiagnosisCase& problem, const RowPlace& place, bool is_last, std::int64_t fixed)
      : problem_(problem), place_(place) {
    Behaviour open = problem.declared;
    open.range_override = is_last ? std::pair{fixed, far} : std::pair{-far, fixed};
    const RowKeys keys = keys_of_row(open, place.batch, place.head, place.row);
    row_ = evaluate_row<double>(open, place.batch, place.head, place.row);
    sum_.assign(row_.output.size(), 0);
    largest_ = row_.sink_score.value_or(-std::numeric_limits<double>::infinity());
    for (const double score : row_.scores) largest_ = std::max(largest_, score);
    if (row_.sink_score) total_ = std::exp(*row_.sink_score - largest_);
    empty_ = cost();
    const std::size_t count = row_.scores.size();
    for (std::size_t n = 0; n < count; ++n) {
      const std::size_t k = is_last ? n : count - 1 - n;
      take(k);
      const auto key = static_cast<std::int64_t>(row_.visible[k]) - keys.begin;
      by_end_[key - keys.position] = cost();
    }
    is_last_ = is_last;
  }

  const std::map<std::int64_t, double>& by_end() const { return by_end_; }

  // Beyond the last key nothing more comes in; before the first one nothing is seen.
  double at(std::int64_t end) const {
    if (is_last_) {
      const auto next = by_end_.upper_bound(end);
      return next == by_end_.begin() ? empty_ : std::prev(next)->second;
    }
    const auto next = by_end_.lower_bound(end);
    return next == by_end_.end() ? empty_ : next->second;
  }

 private:
  void take(std::size_t k) {
    const double weight = std::exp(row_.scores[k] - largest_);
    const std::int64_t head = problem_.declared.value_head[static_cast<std::size_t>(place_.head)];
    const OperandRow values =
        problem_.declared.value_row(place_.batch, head, static_cast<std::int64_t>(row_.visible[k]));
    total_ += weight;
    for (std::size_t c = 0; c < sum_.size(); ++c) {
      sum_[c] += weight * values[static_cast<std::int64_t>(c)];
    }
  }

  double cost() const {
    double squares = 0;
    for (std::size_t c = 0; c < sum_.size(); ++c) {
      const double output = recorded(problem_.declared, place_, static_cast<std::int64_t>(c));
      squares += square(output - (total_ > 0 ? sum_[c] / total_ : 0));
    }
    return squares;
  }

  const DiagnosisCase& problem_;
  RowPlace place_;
  EvaluatedRow<double> row_;
  double largest_ = 0;
  double total_ = 0;
  std::vector<double> sum_;
  double empty_ = 0;
  bool is_last_ = true;
  std::map<std::int64_t, double> by_end_;
};

// The end with the least distance over all rows; of equal ones that nearest to the declared.
std::optional<std::int64_t> best_end(const DiagnosisCase& problem,
                                     const std::vector<RowPlace>& places, bool is_last) {
  const Ends ends = declared_ends(problem.declared.contract);
  const std::int64_t declared = is_last ? ends.last : ends.first;
  std::vector<EndCosts> costs;
  std::map<std::int64_t, double> candidates;
  for (const RowPlace& place : places) {
    costs.emplace_back(problem, place, is_last, is_last ? ends.first : ends.last);
    for (const auto& [end, cost] : costs.back().by_end()) candidates[end] = 0;
  }
  if (candidates.empty()) return std::nullopt;
  // One more than every row's reach: no key at all.
  candidates[is_last ? candidates.begin()->first - 1 : candidates.rbegin()->first + 1] = 0;
  std::optional<std::int64_t> best;
  for (auto& [end, total] : candidates) {
    for (const EndCosts& cost : costs) total += cost.at(end);
    if (!(total < std::numeric_limits<double>::infinity())) continue;
    const auto key = std::pair{total, std::abs(end - declared)};
    if (!best || key < std::pair{candidates[*best], std::abs(*best - declared)}) best = end;
  }
  return best == declared ? std::nullopt : best;
}

std::string at_position(std::int64_t distance) {
  return distance == 0 ? "p" : fmt::format("p{:+}", distance);
}

Fault end_fault(const FaultKind& kind, const Ends& ends, bool is_last, std::int64_t declared) {
  const char* way = is_last ? "up to" : "from";
  const std::string found = at_position(is_last ? ends.last : ends.first);
  Fault fault{&kind, 0,
              [ends](Behaviour& behaviour) {
                behaviour.range_override = {ends.first, ends.last};
                return Edit::changed;
              },
              fmt::format("keys {} {}", way, found)};
  fault.sentence = std::abs(declared) < far
                       ? fmt::format("the row of position p sees keys {} {} instead of {} {}", way,
                                     found, way, at_position(declared))
                       : fmt::format("the row of position p sees keys {} {} only", way, found);
  return fault;
}

}  // namespace

std::vector<Fault> moved_range_ends(const DiagnosisCase& problem,
                                    const std::vector<RowPlace>& wrong) {
  constexpr std::size_t rows = 8;
  std::vector<Fault> faults;
  const Contract& contract = problem.declared.contract;
  const Ends declared = declared_ends(contract);
  const std::vector<RowPlace> places = spread_out(wrong, rows);
  for (const bool is_last : {true, false}) {
    const auto end = best_end(problem, places, is_last);
    if (!end) continue;
    Ends ends = declared;
    (is_last ? ends.last : ends.first) = *end;
    Behaviour trial = problem.declared;
    trial.range_override = {ends.first, ends.last};
    const bool fits = std::ranges::all_of(
        places, [&](const RowPlace& place) { return matches_roughly(problem, trial, place); });
    if (!fits) continue;
    const FaultKind& kind = !is_last          ? moved_window_left
                            : contract.causal ? moved_diagonal
                                              : moved_window_right;
    faults.push_back(end_fault(kind, ends, is_last, is_last ? declared.last : declared.first));
  }
  return faults;
}

}  // namespace gqa
