#include "gqa/diagnose/explain/explanation_search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gqa/diagnose/explain/tolerance_search.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

using Coverage = SearchStep::Coverage;

// From small sets to large ones; those that hold a sum of few bits come last.
std::vector<SearchStep> steps_of(const SearchOptions& options) {
  std::vector<SearchStep> steps;
  for (const bool narrow : {false, true}) {
    if (narrow && !options.narrow_sums) continue;
    for (const auto& [size, coverage] :
         {std::pair{1, Coverage::all}, std::pair{2, Coverage::all}, std::pair{2, Coverage::part},
          std::pair{2, Coverage::silent}, std::pair{3, Coverage::all}}) {
      const auto count = static_cast<std::size_t>(size);
      // Single sums of few bits were not among the first ones.
      if (count <= options.largest_set && (count >= options.least_set || narrow)) {
        steps.push_back({static_cast<std::size_t>(size), coverage, narrow});
      }
    }
  }
  return steps;
}

// Student's t of the differences of two explanations' squared distances, element by element:
// positive where the second one is farther from the data. Both have the rounding of the data in
// common, so that what is left is what the explanations differ in.
double worse_by(const std::vector<double>& first, const std::vector<double>& second) {
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i) {
    // A number where another one has NaN is no explanation, and no matter of squares.
    const double difference = second[i] - first[i];
    if (!std::isfinite(difference)) continue;
    sum += difference;
    squares += square(difference);
  }
  return squares > 0 ? sum / std::sqrt(squares) : 0;
}

double total(const std::vector<double>& squares) {
  return std::accumulate(squares.begin(), squares.end(), 0.0);
}

// Six standard deviations are no chance. A number that was measured fits a little better than the
// right name, if only because the kernel has rounded a constant of its own: it must fit far better.
bool is_refuted_by(const Explanation& one, const std::vector<double>& own, const Explanation& other,
                   const std::vector<double>& others) {
  constexpr double deviations = 6;
  constexpr double far_better = 4;
  if (worse_by(others, own) < deviations) return false;
  return one.is_of_catalogue() == other.is_of_catalogue() ||
         total(own) > far_better * total(others);
}

void leave_out_bad_fits(const ToleranceSearch& search, std::vector<Explanation>& explanations) {
  if (explanations.size() < 2) return;
  std::vector<std::vector<double>> squares;
  for (const Explanation& explanation : explanations) {
    squares.push_back(search.squared_distances(explanation));
  }
  std::vector<Explanation> left;
  for (std::size_t i = 0; i < explanations.size(); ++i) {
    bool refuted = false;
    for (std::size_t j = 0; j < explanations.size() && !refuted; ++j) {
      refuted = i != j && is_refuted_by(explanations[i], squares[i], explanations[j], squares[j]);
    }
    if (!refuted) left.push_back(explanations[i]);
  }
  explanations = std::move(left);
}

// What the catalogue names needs no measurement beside it.
void prefer_named(std::vector<Explanation>& explanations) {
  if (std::ranges::any_of(explanations, &Explanation::is_of_catalogue)) {
    std::erase_if(explanations, [](const Explanation& one) { return !one.is_of_catalogue(); });
  }
}

}  // namespace

SearchResult search_explanations(std::span<const DiagnosisCase> cases,
                                 std::span<const Tolerance> tolerances, const Measurement& measure,
                                 const SearchOptions& options) {
  std::vector<std::optional<ToleranceSearch>> searches(tolerances.size());
  SearchResult result;
  for (const SearchStep& step : steps_of(options)) {
    for (std::size_t n = 0; n < tolerances.size(); ++n) {
      if (!searches[n])
        searches[n].emplace(under_tolerance(cases, tolerances[n]), measure, options);
      searches[n]->run(step, result);
      const bool stated = !std::holds_alternative<ModelTolerance>(tolerances[n]);
      if (stated && result.said_nothing) return result;
      if (result.explanations.empty()) continue;
      leave_out_bad_fits(*searches[n], result.explanations);
      prefer_named(result.explanations);
      return result;
    }
  }
  return result;
}

}  // namespace gqa
