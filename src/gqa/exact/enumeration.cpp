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

template <class R>
R fraction(std::int64_t numerator, std::int64_t denominator) {
  return rational_cast<R>(make_rational(mpz_class(static_cast<long>(numerator)),
                                        mpz_class(static_cast<long>(denominator))));
}

template <class R>
std::array<R, value_size> value_of(std::int64_t kv_head, std::int64_t key) {
  const std::int64_t sign = key % 2 == 0 ? 1 : -1;
  return {fraction<R>(10 * kv_head + key, 1), fraction<R>(key + 1, kv_head + 2),
          R(fraction<R>(sign * (kv_head + 1), 1) + fraction<R>(1, key + 1))};
}

// The multi-head problem in which every query head owns a copy of its history.
template <class R>
Problem<ExactNumbers<R>> expanded_problem(const Problem<ExactNumbers<R>>& grouped,
                                          const std::vector<std::int64_t>& head_map) {
  Problem<ExactNumbers<R>> expanded;
  expanded.contract = grouped.contract;
  expanded.query = grouped.query;
  expanded.key = expand_heads(grouped.key, head_map);
  expanded.value = expand_heads(grouped.value, head_map);
  expanded.strengths = grouped.strengths;
  return expanded;
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
  using Numbers = ExactNumbers<R>;
  Problem<Numbers> problem;
  problem.query = Tensor<typename Numbers::Query>({1, which.q_heads, 1, 1});
  problem.key = Tensor<R>({1, which.kv_heads, keys, 1}, R(0));
  problem.value = Tensor<R>({1, which.kv_heads, keys, value_size}, R(0));
  problem.strengths = Tensor<R>({1, which.q_heads, 1, keys}, R(0));
  for (std::int64_t h = 0; h < which.q_heads; ++h) {
    const auto row = problem.strengths->matrix(0, h).row(0);
    for (std::int64_t j = 0; j < keys; ++j) {
      row[static_cast<std::size_t>(j)] =
          rational_cast<R>(weight_families[which.family].strength(h, j));
    }
  }
  for (std::int64_t g = 0; g < which.kv_heads; ++g) {
    for (std::int64_t j = 0; j < keys; ++j) {
      const auto value = value_of<R>(g, j);
      std::ranges::copy(value, problem.value.matrix(0, g).row(static_cast<std::size_t>(j)).begin());
    }
  }
  return problem;
}

template <class R>
CaseOutcome evaluate_case(const EnumerationCase& which) {
  Problem<ExactNumbers<R>> problem = case_problem<R>(which);
  const auto direct = attention(problem);
  const auto repetition = consecutive_repetition(which.q_heads, which.kv_heads);
  const auto expanded = attention(expanded_problem<R>(problem, repetition));
  problem.contract.head_map.kind = HeadMapKind::interleaved;
  const auto interleaved = attention(problem);
  CaseOutcome outcome;
  outcome.equal = direct.output == expanded.output && direct.weights == expanded.weights;
  outcome.map_differs =
      resolve_head_map(problem.contract.head_map, which.q_heads, which.kv_heads) != repetition;
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
