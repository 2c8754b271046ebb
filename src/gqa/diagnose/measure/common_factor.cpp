#include "gqa/diagnose/measure/common_factor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "gqa/diagnose/explain/explanation_search.hpp"

namespace gqa {
namespace {

struct Grouping {
  const char* per;
  bool by_batch;
  enum class Heads { none, kv, query } heads;
};

constexpr std::array groupings{Grouping{"", false, Grouping::Heads::none},
                               Grouping{"batch entry", true, Grouping::Heads::none},
                               Grouping{"KV head", false, Grouping::Heads::kv},
                               Grouping{"query head", false, Grouping::Heads::query},
                               Grouping{"batch entry and KV head", true, Grouping::Heads::kv}};

std::size_t head_groups(const Behaviour& b, Grouping::Heads heads) {
  if (heads == Grouping::Heads::none) return 1;
  return static_cast<std::size_t>(heads == Grouping::Heads::kv ? b.key.head_count()
                                                               : b.query_heads());
}

std::size_t group_count(const Behaviour& b, const Grouping& grouping) {
  return (grouping.by_batch ? static_cast<std::size_t>(b.batch()) : 1) *
         head_groups(b, grouping.heads);
}

std::size_t group_of(const Behaviour& b, const Grouping& grouping, std::int64_t batch,
                     std::int64_t head) {
  std::size_t index = grouping.by_batch ? static_cast<std::size_t>(batch) : 0;
  index *= head_groups(b, grouping.heads);
  if (grouping.heads == Grouping::Heads::query) index += static_cast<std::size_t>(head);
  if (grouping.heads == Grouping::Heads::kv) {
    index += static_cast<std::size_t>(b.key_head[static_cast<std::size_t>(head)]);
  }
  return index;
}

struct ReferenceRow {
  RowPlace place;
  std::vector<double> right;
  std::vector<double> recorded;
};

// A factor of a narrow format is a number of it; of a wide one, it was rounded once.
double roundoff_of(const DiagnosisCase& problem) {
  return std::min(problem.format->unit_roundoff(), 0x1p-24);
}

std::optional<CommonFactors> factors_of(const DiagnosisCase& problem, const Grouping& grouping,
                                        const std::vector<ReferenceRow>& rows) {
  const Behaviour& b = problem.declared;
  std::vector<FactorFit> fits(group_count(b, grouping));
  for (const ReferenceRow& row : rows) {
    FactorFit& fit = fits[group_of(b, grouping, row.place.batch, row.place.head)];
    for (std::size_t c = 0; c < row.right.size(); ++c) fit.add(row.right[c], row.recorded[c]);
    fit.end_row();
  }
  CommonFactors factors{grouping.per, {}, {}};
  for (const FactorFit& fit : fits) {
    const MeasuredNumber one{1, 0};
    const auto factor = fit.pairs() == 0 ? one : fit.factor(roundoff_of(problem));
    if (!factor || factor->value == 0) return std::nullopt;
    factors.groups.push_back(factor->allows(1) ? one : *factor);
  }
  for (std::int64_t batch = 0; batch < b.batch(); ++batch) {
    for (std::int64_t h = 0; h < b.query_heads(); ++h) {
      factors.of_head.push_back(factors.groups[group_of(b, grouping, batch, h)].value);
    }
  }
  return factors;
}

bool all_fit(const DiagnosisCase& problem, const std::vector<double>& of_head,
             const std::vector<ReferenceRow>& rows) {
  Behaviour trial = problem.declared;
  trial.head_factors = of_head;
  return std::ranges::all_of(
      rows, [&](const ReferenceRow& row) { return matches_roughly(problem, trial, row.place); });
}

// The named numbers, where each group has one and they fit.
std::vector<double> named_factors(const DiagnosisCase& problem, const CommonFactors& factors,
                                  const std::vector<ReferenceRow>& rows) {
  const std::vector<std::int64_t> sizes = sizes_of(problem.declared);
  std::vector<double> named = factors.of_head;
  for (std::size_t h = 0; h < named.size(); ++h) {
    for (const MeasuredNumber& group : factors.groups) {
      const auto names = recognised(group, sizes);
      if (group.value == factors.of_head[h] && !names.empty()) named[h] = names.front().value;
    }
  }
  return all_fit(problem, named, rows) ? named : factors.of_head;
}

// Wrong rows and others, so that a factor of the wrong ones alone does not pass for one of all.
std::vector<ReferenceRow> reference_rows(const DiagnosisCase& problem,
                                         const std::vector<RowPlace>& wrong) {
  constexpr std::size_t most = 64;
  std::vector<RowPlace> places = places_of(problem.declared, most);
  for (const RowPlace& place : spread_out(wrong, most)) {
    if (std::ranges::find(places, place) == places.end()) places.push_back(place);
  }
  std::vector<ReferenceRow> rows;
  for (const RowPlace& place : places) {
    const auto row = evaluate_row<double>(problem.declared, place.batch, place.head, place.row);
    if (row.anything) continue;
    ReferenceRow& entry = rows.emplace_back(ReferenceRow{place, row.output, {}});
    for (std::size_t c = 0; c < row.output.size(); ++c) {
      if (row.is_nan[c] != 0) entry.right[c] = std::numeric_limits<double>::quiet_NaN();
      entry.recorded.push_back(recorded(problem.declared, place, static_cast<std::int64_t>(c)));
    }
  }
  return rows;
}

std::string text_of(const CommonFactors& factors, const std::vector<std::int64_t>& sizes) {
  if (factors.groups.size() == 1) return describe(factors.groups.front(), sizes);
  std::vector<std::string> texts;
  for (const MeasuredNumber& group : factors.groups) texts.push_back(describe(group, sizes));
  return fmt::format("{} by {}", fmt::join(texts, ", "), factors.per);
}

std::string sentence_of(const CommonFactors& factors, const std::string& text) {
  if (factors.groups.size() == 1) {
    return fmt::format("the output is {} times what it should be ({})", text,
                       measured_as(factors.groups.front()));
  }
  return fmt::format("the output is a multiple of what it should be, by these factors: {}", text);
}

}  // namespace

std::vector<std::int64_t> sizes_of(const Behaviour& b) {
  return {b.key_size(),       b.value_size(), b.query_heads(),
          b.key.head_count(), b.group(),      b.query_heads() * b.key_size()};
}

std::optional<CommonFactors> fitting_output_factors(const DiagnosisCase& problem,
                                                    const std::vector<RowPlace>& wrong) {
  if (wrong.empty()) return std::nullopt;
  const std::vector<ReferenceRow> rows = reference_rows(problem, wrong);
  std::size_t tried = 0;
  for (const Grouping& grouping : groupings) {
    const std::size_t count = group_count(problem.declared, grouping);
    if (count <= tried) continue;  // no finer than what did not fit
    tried = count;
    auto factors = factors_of(problem, grouping, rows);
    if (!factors) continue;
    const auto is_one = [](const MeasuredNumber& group) { return group.value == 1; };
    if (std::ranges::all_of(factors->groups, is_one)) continue;
    factors->of_head = named_factors(problem, *factors, rows);
    if (all_fit(problem, factors->of_head, rows)) return factors;
  }
  return std::nullopt;
}

std::optional<Fault> output_factor_fault(const DiagnosisCase& problem,
                                         const std::vector<RowPlace>& wrong) {
  const auto factors = fitting_output_factors(problem, wrong);
  if (!factors) return std::nullopt;
  const std::string text = text_of(*factors, sizes_of(problem.declared));
  Fault fault{&measured_output_factor, 0,
              [of_head = factors->of_head](Behaviour& behaviour) {
                behaviour.head_factors = of_head;
                return Edit::changed;
              },
              text};
  fault.sentence = sentence_of(*factors, text);
  return fault;
}

}  // namespace gqa
