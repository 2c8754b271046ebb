#include "gqa/exact/enumeration.hpp"

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <mutex>

#include "gqa/error.hpp"

namespace gqa {
namespace {

constexpr std::int64_t keys = 4;
constexpr std::int64_t value_size = 3;
constexpr std::int64_t largest_max_heads = 512;

// v[g][j] = (10 g + j, (j+1)/(g+2), (-1)^j (g+1) + 1/(j+1))
std::array<WordFraction, value_size> value_of(std::int64_t kv_head, std::int64_t key) {
  const std::int64_t sign = key % 2 == 0 ? 1 : -1;
  return {WordFraction::reduced(10 * kv_head + key, 1), WordFraction::reduced(key + 1, kv_head + 2),
          WordFraction::reduced(sign * (kv_head + 1) * (key + 1) + 1, key + 1)};
}

// floor(h / (Hq/Hkv)) by repetition, as repeat_interleave does it: a second way to the
// contiguous map that shares nothing with resolve_head_map.
std::vector<std::int64_t> consecutive_repetition(std::int64_t q_heads, std::int64_t kv_heads) {
  std::vector<std::int64_t> map;
  for (std::int64_t kv_head = 0; kv_head < kv_heads; ++kv_head) {
    map.insert(map.end(), static_cast<std::size_t>(q_heads / kv_heads), kv_head);
  }
  return map;
}

void merge(EnumerationResult& result, const EnumerationCase& which, const CaseOutcome& outcome) {
  ++result.cases;
  result.equal += outcome.equal ? 1 : 0;
  result.map_differs += outcome.map_differs ? 1 : 0;
  result.map_coincides += outcome.map_differs ? 0 : 1;
  result.detected += outcome.map_differs && outcome.detected ? 1 : 0;
  result.false_alarms += !outcome.map_differs && outcome.detected ? 1 : 0;
  if (!outcome.equal || outcome.detected != outcome.map_differs) {
    result.failures.push_back(fmt::format(
        "Hq={} Hkv={} {}: equal={} map_differs={} detected={}", which.q_heads, which.kv_heads,
        weight_families[which.family].name, outcome.equal, outcome.map_differs, outcome.detected));
  }
}

}  // namespace

std::vector<EnumerationCase> enumeration_cases(std::int64_t max_heads) {
  std::vector<EnumerationCase> cases;
  for (std::int64_t q_heads = 1; q_heads <= max_heads; ++q_heads) {
    for (std::int64_t kv_heads = 1; kv_heads <= q_heads; ++kv_heads) {
      if (q_heads % kv_heads != 0) continue;
      for (std::size_t family = 0; family < weight_families.size(); ++family) {
        cases.push_back({q_heads, kv_heads, family});
      }
    }
  }
  return cases;
}

template <class R>
Problem<ExactNumbers<R>> case_problem(const EnumerationCase& which) {
  std::vector<R> strengths;
  strengths.reserve(static_cast<std::size_t>(which.q_heads * keys));
  for (std::int64_t h = 0; h < which.q_heads; ++h) {
    for (std::int64_t j = 0; j < keys; ++j) {
      append(strengths, weight_families[which.family].strength(h, j));
    }
  }
  std::vector<R> values;
  values.reserve(static_cast<std::size_t>(which.kv_heads * keys * value_size));
  for (std::int64_t g = 0; g < which.kv_heads; ++g) {
    for (std::int64_t j = 0; j < keys; ++j) {
      for (const WordFraction& coordinate : value_of(g, j)) append(values, coordinate);
    }
  }
  Problem<ExactNumbers<R>> problem;
  problem.strengths = Tensor<R>({1, which.q_heads, 1, keys}, std::move(strengths));
  problem.value = Tensor<R>({1, which.kv_heads, keys, value_size}, std::move(values));
  return problem;
}

template <class R>
CaseOutcome evaluate_case(const EnumerationCase& which) {
  using Numbers = ExactNumbers<R>;
  Problem<Numbers> problem = case_problem<R>(which);
  const ValueHistories<Numbers> shared(problem.value);
  const auto direct = attention(problem, shared, Wanted::output);
  problem.contract.head_map.kind = HeadMapKind::interleaved;
  const auto interleaved = attention(problem, shared, Wanted::output);
  // The multi-head problem in which every query head owns a copy of its history.
  const auto repetition = consecutive_repetition(which.q_heads, which.kv_heads);
  problem.contract.head_map.kind = HeadMapKind::contiguous;
  const auto multi_head = attention(problem, shared.expanded(repetition), Wanted::output);
  CaseOutcome outcome;
  outcome.equal = direct.output == multi_head.output;
  const HeadMap other{HeadMapKind::interleaved, {}};
  outcome.map_differs = resolve_head_map(other, which.q_heads, which.kv_heads) != repetition;
  outcome.detected = direct.output != interleaved.output;
  return outcome;
}

EnumerationResult enumerate_cases(std::int64_t max_heads, Engine engine,
                                  const std::function<void(std::int64_t)>& progress) {
  if (max_heads < 1 || max_heads > largest_max_heads) {
    throw InputError("enumerate.max_heads", "max_heads",
                     fmt::format("{} is outside 1..{}", max_heads, largest_max_heads));
  }
  const std::vector<EnumerationCase> cases = enumeration_cases(max_heads);
  std::vector<CaseOutcome> outcomes(cases.size());
  std::mutex progress_mutex;
  std::int64_t finished = 0;
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, cases.size()), [&](const auto& range) {
    for (std::size_t i = range.begin(); i != range.end(); ++i) {
      outcomes[i] = engine == Engine::gmp ? evaluate_case<Rational>(cases[i])
                                          : evaluate_case<BoostRational>(cases[i]);
    }
    if (progress) {
      const std::lock_guard lock(progress_mutex);
      finished += static_cast<std::int64_t>(range.size());
      progress(finished);
    }
  });
  EnumerationResult result;
  result.max_heads = max_heads;
  result.fixtures = static_cast<std::int64_t>(weight_families.size());
  result.pairs = static_cast<std::int64_t>(cases.size()) / result.fixtures;
  for (std::size_t i = 0; i < cases.size(); ++i) merge(result, cases[i], outcomes[i]);
  return result;
}

template Problem<GmpNumbers> case_problem<Rational>(const EnumerationCase&);
template Problem<BoostNumbers> case_problem<BoostRational>(const EnumerationCase&);
template CaseOutcome evaluate_case<Rational>(const EnumerationCase&);
template CaseOutcome evaluate_case<BoostRational>(const EnumerationCase&);

}  // namespace gqa
