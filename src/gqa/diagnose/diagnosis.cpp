#include "gqa/diagnose/diagnosis.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <set>

#include "gqa/audit/decide/describe_violations.hpp"
#include "gqa/diagnose/local/below_rounding.hpp"
#include "gqa/diagnose/local/local_diagnosis.hpp"
#include "gqa/diagnose/local/located.hpp"
#include "gqa/diagnose/local/region_audit.hpp"
#include "gqa/diagnose/measure/content.hpp"
#include "gqa/diagnose/measure/measurement.hpp"

namespace gqa {
namespace {

// Rows that are looked at one by one, by enclosures.
constexpr std::int64_t measured_keys = 50'000;

struct WrongPlaces {
  std::vector<RowPlace> wrong;
  bool complete = false;  // every row was looked at
};

WrongPlaces wrong_places(const DiagnosisCase& problem) {
  WrongPlaces found;
  if (problem.audited) return {problem.audited->places(), true};
  const Behaviour& declared = problem.declared;
  const std::int64_t keys = std::max<std::int64_t>(declared.keys(), 1);
  const std::vector<RowPlace> places =
      places_of(declared, std::max<std::int64_t>(measured_keys / keys, 16));
  for (const RowPlace& place : places) {
    if (!matches_roughly(problem, declared, place) ||
        matches(problem, declared, place).certainly_not()) {
      found.wrong.push_back(place);
    }
  }
  for (const RowPlace& suspect : problem.suspects) {
    if (std::ranges::find(places, suspect) == places.end()) found.wrong.push_back(suspect);
  }
  found.complete = static_cast<std::int64_t>(places.size()) ==
                   declared.batch() * declared.query_heads() * declared.queries();
  return found;
}

// "the wrong rows are in every batch entry", "... in query rows 1 and 2 only".
std::string describe_axis(const WrongPlaces& places, const AxisWords& words, std::int64_t all,
                          std::int64_t RowPlace::*axis) {
  std::set<std::int64_t> found;
  for (const RowPlace& place : places.wrong) found.insert(place.*axis);
  const char* rows = places.complete ? "the wrong rows" : "the wrong ones of the rows compared";
  if (static_cast<std::int64_t>(found.size()) == all) {
    return fmt::format("{} are in every {}", rows, words.singular);
  }
  return fmt::format("{} are in {} only", rows, numbered(words, {found.begin(), found.end()}));
}

// Where the wrong rows lie, and what single heads say.
std::vector<std::string> describe_unexplained(const DiagnosisCase& problem,
                                              const WrongPlaces& places) {
  const Behaviour& declared = problem.declared;
  std::vector<std::string> lines{
      describe_axis(places, {"batch entry", "batch entries"}, declared.batch(), &RowPlace::batch),
      describe_axis(places, {"query head", "query heads"}, declared.query_heads(), &RowPlace::head),
      describe_axis(places, {"query row", "query rows"}, declared.queries(), &RowPlace::row)};
  const auto fitting = fitting_heads(problem, places.wrong);
  for (std::size_t h = 0; h < fitting.size(); ++h) {
    if (fitting[h].size() == 1 && fitting[h].front() != declared.key_head[h]) {
      lines.push_back(fmt::format("query head {} fits KV head {}", h, fitting[h].front()));
    }
  }
  return lines;
}

// Of several cases the first few wrong ones, by their number.
std::vector<std::string> describe_unexplained(std::span<const DiagnosisCase> cases,
                                              const std::vector<WrongPlaces>& wrong) {
  if (cases.size() == 1) return describe_unexplained(cases[0], wrong[0]);
  constexpr std::size_t described = 3;
  std::vector<std::string> lines;
  std::size_t count = 0;
  for (std::size_t n = 0; n < cases.size(); ++n) {
    if (wrong[n].wrong.empty() || ++count > described) continue;
    for (const std::string& line : describe_unexplained(cases[n], wrong[n])) {
      lines.push_back(fmt::format("case {} of {}: {}", n + 1, cases.size(), line));
    }
  }
  if (count > described) {
    lines.push_back(fmt::format("{} further cases have wrong rows", count - described));
  }
  return lines;
}

// One content of the outputs of all cases.
std::optional<Fault> content_of_outputs(std::span<const DiagnosisCase> cases) {
  ContentReader reader;
  for (const DiagnosisCase& problem : cases) {
    const OperandView& output = problem.declared.output;
    for (std::int64_t b = 0; b < output.batch; ++b) {
      for (std::int64_t h = 0; h < output.head_count(); ++h) {
        for (std::int64_t i = 0; i < output.rows; ++i) {
          for (std::int64_t c = 0; c < output.width; ++c) {
            if (!reader.add(output.at(b, h, i, c))) return std::nullopt;
          }
        }
      }
    }
  }
  return reader.fault();
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
    case DiagnosisStatus::rounding:
      return "rounding";
    case DiagnosisStatus::named:
      return "named";
    case DiagnosisStatus::measured:
      return "measured";
    case DiagnosisStatus::located:
      return "located";
    case DiagnosisStatus::unexplained:
      return "unexplained";
  }
  return "?";
}

DiagnosisStatus status_of(std::span<const Explanation> explanations) {
  if (explanations.empty()) return DiagnosisStatus::unexplained;
  const auto is_place = [](const Explanation& one) { return one.faults.empty(); };
  if (std::ranges::all_of(explanations, is_place)) return DiagnosisStatus::located;
  return std::ranges::any_of(explanations, &Explanation::is_of_catalogue)
             ? DiagnosisStatus::named
             : DiagnosisStatus::measured;
}

namespace {

// Those that hold in every row of the output, by an audit under what they say.
std::vector<Explanation> confirmed_everywhere(const DiagnosisCase& problem,
                                              std::vector<Explanation> explanations) {
  constexpr std::size_t most_confirmed = 3;
  std::vector<Explanation> confirmed;
  for (Explanation& one : explanations) {
    if (confirmed.size() == most_confirmed) break;
    DiagnosisCase own = problem;
    own.tolerance = one.tolerance;
    const Confirmation answer =
        confirmed_in_region(own, edited(problem.declared, one.faults), Region{});
    if (!answer.holds) continue;
    one.rows = answer.rows;
    one.certified_rows = answer.certified_rows;
    tell_moved_heads(problem.declared, one);
    confirmed.push_back(std::move(one));
  }
  return confirmed;
}

// One search of the catalogue, confirmed.
std::vector<Explanation> searched(const DiagnosisCase& problem,
                                  std::span<const Tolerance> tolerances, const Measurement& measure,
                                  const SearchOptions& options, Diagnosis& diagnosis) {
  SearchResult found = search_explanations(std::span(&problem, 1), tolerances, measure, options);
  diagnosis.candidates += found.candidates;
  diagnosis.cut_short = diagnosis.cut_short || found.cut_short;
  return confirmed_everywhere(problem, std::move(found.explanations));
}

std::vector<Explanation> local_under(const DiagnosisCase& problem,
                                     std::span<const Tolerance> tolerances,
                                     const SearchOptions& options) {
  for (const Tolerance& tolerance : tolerances) {
    DiagnosisCase own = problem;
    own.tolerance = tolerance;
    auto found = local_explanations(own, *problem.audited, options.deadline);
    if (!found.empty()) return found;
  }
  return {};
}

// Two faults of a whole contract together show in more than a row here and there: of so few wrong
// rows the place says more than any pair that happens to fit them.
bool may_be_several(const DiagnosisCase& problem) {
  constexpr std::int64_t share = 64;
  const Behaviour& b = problem.declared;
  const std::int64_t rows = b.batch() * b.query_heads() * b.queries();
  return std::ssize(problem.audited->places()) * share > rows;
}

// Cheapest first: one fault of the catalogue everywhere, one fault in a region, measured numbers
// and several faults together, and at last the region alone.
std::vector<Explanation> explained(const DiagnosisCase& problem,
                                   std::span<const Tolerance> tolerances,
                                   const SearchOptions& options, Diagnosis& diagnosis) {
  SearchOptions single = options;
  single.largest_set = std::min<std::size_t>(options.largest_set, 1);
  single.narrow_sums = false;
  auto found = searched(problem, tolerances, {}, single, diagnosis);
  if (found.empty() && options.largest_set > 0) {
    found = local_under(problem, tolerances, options);
  }
  if (!found.empty()) return found;
  const Measurement measure = [&problem](std::span<const DiagnosisCase> all) {
    constexpr std::size_t rows = 16;
    return measured_faults(all.front(), problem.audited->spread(rows));
  };
  SearchOptions several = options;
  if (!may_be_several(problem)) several.largest_set = single.largest_set;
  found = searched(problem, tolerances, measure, several, diagnosis);
  if (!found.empty()) return found;
  diagnosis.cut_short = diagnosis.cut_short || problem.is_late();
  DiagnosisCase own = problem;
  own.tolerance = tolerances.front();
  if (auto place = located(local_evidence(own, *problem.audited))) return {*place};
  return {};
}

// Of an output whose wrong rows are all known.
Diagnosis diagnose_audited(const DiagnosisCase& given, std::span<const Tolerance> tolerances,
                           const SearchOptions& options) {
  constexpr std::size_t asked_columns = 8;
  Diagnosis diagnosis;
  diagnosis.tolerance = tolerances.back();
  DiagnosisCase problem = given;
  problem.tolerance = tolerances.back();
  problem.asked_columns = asked_columns;
  problem.deadline = options.deadline;
  const auto content = content_of_outputs(std::span(&given, 1));
  const bool is_constant = content && content->kind == &content_constant;
  if (content && !is_constant) {
    diagnosis.explanations.push_back({{*content}, 0, 0});
    diagnosis.explanations.back().tolerance = diagnosis.tolerance;
  } else {
    diagnosis.explanations = explained(problem, tolerances, options, diagnosis);
  }
  diagnosis.status = status_of(diagnosis.explanations);
  if (diagnosis.status == DiagnosisStatus::unexplained) {
    diagnosis.measurements = describe_unexplained(problem, wrong_places(problem));
    if (is_constant) diagnosis.measurements.push_back("the output " + content->sentence);
  } else {
    diagnosis.tolerance = diagnosis.explanations.front().tolerance;
  }
  name_inseparable_explanations(diagnosis);
  return diagnosis;
}

}  // namespace

Diagnosis diagnose(std::span<const DiagnosisCase> cases, std::span<const Tolerance> tolerances,
                   const SearchOptions& options) {
  Diagnosis diagnosis;
  if (cases.empty()) return diagnosis;
  diagnosis.tolerance = tolerances.back();
  const std::vector<DiagnosisCase> loosest = under_tolerance(cases, tolerances.back());
  if (cases.size() == 1 && cases.front().audited && !cases.front().audited->places().empty()) {
    return diagnose_audited(cases.front(), tolerances, options);
  }
  std::vector<WrongPlaces> wrong;
  bool any_wrong = false;
  for (const DiagnosisCase& problem : loosest) {
    wrong.push_back(wrong_places(problem));
    any_wrong = any_wrong || !wrong.back().wrong.empty();
  }
  if (!any_wrong) return cases.size() == 1 ? diagnose_pass(loosest.front()) : diagnosis;
  const auto content = content_of_outputs(cases);
  // A constant is told, but may come of a rule.
  const bool is_constant = content && content->kind == &content_constant;
  if (content && !is_constant) {
    diagnosis.explanations.push_back({{*content}, 0, 0});
    diagnosis.explanations.back().tolerance = diagnosis.tolerance;
  } else {
    const Measurement measure = [](std::span<const DiagnosisCase> all) {
      if (all.size() != 1) return std::vector<Fault>{};
      return measured_faults(all.front(), wrong_places(all.front()).wrong);
    };
    SearchResult found = search_explanations(cases, tolerances, measure, options);
    diagnosis.explanations = std::move(found.explanations);
    diagnosis.candidates = found.candidates;
    diagnosis.cut_short = found.cut_short;
  }
  diagnosis.status = status_of(diagnosis.explanations);
  if (diagnosis.status == DiagnosisStatus::unexplained) {
    diagnosis.measurements = describe_unexplained(loosest, wrong);
    if (is_constant) diagnosis.measurements.push_back("the output " + content->sentence);
  } else {
    diagnosis.tolerance = diagnosis.explanations.front().tolerance;
  }
  name_inseparable_explanations(diagnosis);
  return diagnosis;
}

Diagnosis diagnose(std::span<const DiagnosisCase> cases, const SearchOptions& options) {
  if (cases.empty()) return {};
  return diagnose(cases, std::span(&cases.front().tolerance, 1), options);
}

Diagnosis diagnose_pass(const DiagnosisCase& problem) {
  Diagnosis diagnosis;
  diagnosis.tolerance = problem.tolerance;
  diagnosis.hidden = hidden_faults(problem, problem.declared);
  diagnosis.findings = findings_below_rounding(problem);
  for (const std::string& fault : diagnosis.hidden.certain) {
    diagnosis.inseparable.emplace_back("contract", fault);
  }
  return diagnosis;
}

namespace {

// What every row asked has as well with all scores equal, or with the next KV head's history.
std::vector<std::string> imitations_of(const Behaviour& behaviour,
                                       const std::vector<std::optional<ExpectedRow>>& rows) {
  std::vector<std::string> found;
  const auto ask = [&rows, &found](const Behaviour& trial, const char* words) {
    const auto unchanged = [&trial](const auto& row) { return row->is_same(trial); };
    if (!rows.empty() && std::ranges::all_of(rows, unchanged)) found.emplace_back(words);
  };
  Behaviour uniform = behaviour;
  uniform.scale = Ball(0);
  uniform.score_scaled = true;
  // One visible key has all the weight in any case.
  if (behaviour.keys() > 1) ask(uniform, "uniform weights over the visible keys");
  Behaviour other = behaviour;
  const std::int64_t kv_heads = behaviour.key.head_count();
  for (auto* heads : {&other.key_head, &other.value_head}) {
    for (std::int64_t& head : *heads) head = (head + 1) % kv_heads;
  }
  if (kv_heads > 1) ask(other, "the rows of another KV head");
  return found;
}

}  // namespace

HiddenFaults hidden_faults(const DiagnosisCase& problem, const Behaviour& behaviour,
                           std::int64_t largest_keys) {
  const std::int64_t keys = std::max<std::int64_t>(behaviour.keys(), 1);
  const std::vector<RowPlace> places = places_of(behaviour, largest_keys / keys);
  HiddenFaults hidden;
  hidden.rows = static_cast<std::int64_t>(places.size());
  hidden.of = behaviour.batch() * behaviour.query_heads() * behaviour.queries();
  std::vector<std::optional<ExpectedRow>> expected(places.size());
  tbb::parallel_for(std::size_t{0}, places.size(),
                    [&](std::size_t i) { expected[i].emplace(problem, behaviour, places[i]); });
  hidden.imitations = imitations_of(behaviour, expected);
  enum class Seen : char { yes, not_in_rows, never };
  const auto kinds = fault_kinds();
  std::vector<Seen> seen(kinds.size(), Seen::yes);
  tbb::parallel_for(std::size_t{0}, kinds.size(), [&](std::size_t i) {
    const Fault fault{kinds[i], kinds[i]->parameters.empty() ? 0 : kinds[i]->parameters.front()};
    Behaviour trial = behaviour;
    const Edit edit = fault.apply(trial);
    if (edit == Edit::not_applicable) return;
    const auto unchanged = [&](const auto& row) { return row->is_same(trial); };
    if (edit == Edit::same) {
      seen[i] = Seen::never;
    } else if (!expected.empty() && std::ranges::all_of(expected, unchanged)) {
      seen[i] = hidden.rows == hidden.of ? Seen::never : Seen::not_in_rows;
    }
  });
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (seen[i] == Seen::never) hidden.certain.emplace_back(kinds[i]->slug);
    if (seen[i] == Seen::not_in_rows) hidden.rows_compared.emplace_back(kinds[i]->slug);
  }
  return hidden;
}

}  // namespace gqa
