#include "gqa/diagnose/diagnosis.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <set>

#include "gqa/diagnose/measurement.hpp"

namespace gqa {
namespace {

// Rows that are looked at one by one, by enclosures.
constexpr std::int64_t measured_keys = 50'000;

std::vector<RowPlace> wrong_places(const DiagnosisCase& problem) {
  std::vector<RowPlace> wrong;
  const std::int64_t keys = std::max<std::int64_t>(problem.declared.keys(), 1);
  for (const RowPlace& place :
       places_of(problem.declared, std::max<std::int64_t>(measured_keys / keys, 16))) {
    if (!matches_roughly(problem, problem.declared, place) ||
        matches(problem, problem.declared, place).certainly_not()) {
      wrong.push_back(place);
    }
  }
  return wrong;
}

std::string list_of(const std::set<std::int64_t>& values) {
  return fmt::format("{}", fmt::join(values, ", "));
}

// Where the wrong rows lie, and what single heads say.
std::vector<std::string> describe_unexplained(const DiagnosisCase& problem,
                                              const std::vector<RowPlace>& wrong) {
  std::vector<std::string> lines;
  std::set<std::int64_t> batches, heads, rows;
  for (const RowPlace& place : wrong) {
    batches.insert(place.batch);
    heads.insert(place.head);
    rows.insert(place.row);
  }
  const auto& declared = problem.declared;
  const auto describe = [&lines](const char* what, const std::set<std::int64_t>& found,
                                 std::int64_t all) {
    if (static_cast<std::int64_t>(found.size()) == all) {
      lines.push_back(fmt::format("wrong rows are in every {}", what));
    } else if (found.size() <= 16) {
      lines.push_back(fmt::format("wrong rows are in {} {} alone", what, list_of(found)));
    } else {
      lines.push_back(fmt::format("wrong rows are in {} of {} {}s, the first is {}", found.size(),
                                  all, what, *found.begin()));
    }
  };
  describe("batch entry", batches, declared.batch());
  describe("query head", heads, declared.query_heads());
  describe("query row", rows, declared.queries());
  const auto fitting = fitting_heads(problem);
  for (std::size_t h = 0; h < fitting.size(); ++h) {
    if (fitting[h].size() == 1 && fitting[h].front() != declared.key_head[h]) {
      lines.push_back(fmt::format("query head {} fits KV head {}", h, fitting[h].front()));
    }
  }
  return lines;
}

// Of several cases the first few wrong ones, by their number.
std::vector<std::string> describe_unexplained(std::span<const DiagnosisCase> cases,
                                              const std::vector<std::vector<RowPlace>>& wrong) {
  if (cases.size() == 1) return describe_unexplained(cases[0], wrong[0]);
  constexpr std::size_t described = 3;
  std::vector<std::string> lines;
  std::size_t count = 0;
  for (std::size_t n = 0; n < cases.size(); ++n) {
    if (wrong[n].empty() || ++count > described) continue;
    for (const std::string& line : describe_unexplained(cases[n], wrong[n])) {
      lines.push_back(fmt::format("case {} of {}: {}", n + 1, cases.size(), line));
    }
  }
  if (count > described) {
    lines.push_back(fmt::format("{} further cases have wrong rows", count - described));
  }
  return lines;
}

void name_inseparable_explanations(Diagnosis& diagnosis) {
  for (std::size_t i = 0; i < diagnosis.explanations.size(); ++i) {
    for (std::size_t j = i + 1; j < diagnosis.explanations.size(); ++j) {
      diagnosis.inseparable.emplace_back(diagnosis.explanations[i].describe(),
                                         diagnosis.explanations[j].describe());
    }
  }
}

}  // namespace

std::string_view name(DiagnosisStatus status) {
  switch (status) {
    case DiagnosisStatus::none:
      return "none";
    case DiagnosisStatus::named:
      return "named";
    case DiagnosisStatus::unexplained:
      return "unexplained";
  }
  return "?";
}

Diagnosis diagnose(std::span<const DiagnosisCase> cases, const SearchOptions& options) {
  Diagnosis diagnosis;
  if (cases.empty()) return diagnosis;
  diagnosis.tolerance = cases.front().tolerance;
  std::vector<std::vector<RowPlace>> wrong;
  bool any_wrong = false;
  for (const DiagnosisCase& problem : cases) {
    wrong.push_back(wrong_places(problem));
    any_wrong = any_wrong || !wrong.back().empty();
  }
  if (!any_wrong) return cases.size() == 1 ? diagnose_pass(cases.front()) : diagnosis;
  std::vector<Fault> extra;
  if (cases.size() == 1) extra = measured_faults(cases[0], wrong[0]);
  SearchResult found = search_explanations(cases, extra, options);
  diagnosis.explanations = std::move(found.explanations);
  diagnosis.candidates = found.candidates;
  diagnosis.cut_short = found.cut_short;
  diagnosis.status =
      diagnosis.explanations.empty() ? DiagnosisStatus::unexplained : DiagnosisStatus::named;
  if (diagnosis.status == DiagnosisStatus::unexplained) {
    diagnosis.measurements = describe_unexplained(cases, wrong);
  }
  name_inseparable_explanations(diagnosis);
  return diagnosis;
}

Diagnosis diagnose_pass(const DiagnosisCase& problem) {
  Diagnosis diagnosis;
  diagnosis.tolerance = problem.tolerance;
  for (std::string& fault : indistinguishable_faults(problem, problem.declared)) {
    diagnosis.inseparable.emplace_back("contract", std::move(fault));
  }
  return diagnosis;
}

std::vector<std::string> indistinguishable_faults(const DiagnosisCase& problem,
                                                  const Behaviour& behaviour,
                                                  std::int64_t largest_keys) {
  const std::int64_t keys = std::max<std::int64_t>(behaviour.keys(), 1);
  const std::int64_t total = behaviour.batch() * behaviour.query_heads() * behaviour.queries();
  const std::vector<RowPlace> places = places_of(behaviour, largest_keys / keys);
  const bool complete = static_cast<std::int64_t>(places.size()) == total;
  std::vector<std::optional<ExpectedRow>> expected(places.size());
  tbb::parallel_for(std::size_t{0}, places.size(),
                    [&](std::size_t i) { expected[i].emplace(problem, behaviour, places[i]); });
  const auto kinds = fault_kinds();
  std::vector<char> same(kinds.size(), 0);
  tbb::parallel_for(std::size_t{0}, kinds.size(), [&](std::size_t i) {
    const Fault fault{kinds[i], kinds[i]->parameters.empty() ? 0 : kinds[i]->parameters.front()};
    Behaviour trial = behaviour;
    const Edit edit = fault.apply(trial);
    if (edit == Edit::not_applicable) return;
    const auto unchanged = [&](const auto& row) { return row->is_same(trial); };
    same[i] = edit == Edit::same || (complete && std::ranges::all_of(expected, unchanged)) ? 1 : 0;
  });
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (same[i] != 0) names.emplace_back(kinds[i]->slug);
  }
  return names;
}

}  // namespace gqa
