#include "gqa/exact/enumeration_crosscheck.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <vector>

#include "gqa/exact/enumeration.hpp"

namespace gqa {

bool EnumerationCrossCheck::holds() const {
  return cases > 0 && std::ranges::all_of(within, [this](std::int64_t n) { return n == cases; });
}

EnumerationCrossCheck crosscheck_cases(std::int64_t max_heads) {
  const std::vector<EnumerationCase> cases = enumeration_cases(max_heads);
  std::vector<std::array<CrossCheck, check_formats.size()>> checks(cases.size());
  tbb::parallel_for(std::size_t{0}, cases.size(), [&](std::size_t i) {
    const Problem<GmpNumbers> problem = case_problem<Rational>(cases[i]);
    const AttentionResult<GmpNumbers> exact = attention(problem);
    for (std::size_t f = 0; f < check_formats.size(); ++f) {
      checks[i][f] = crosscheck(problem, exact, check_formats[f]);
    }
  });
  EnumerationCrossCheck result;
  result.cases = static_cast<std::int64_t>(cases.size());
  for (std::size_t f = 0; f < check_formats.size(); ++f) {
    result.worst[f].format = check_formats[f];
    for (const auto& check : checks) {
      result.within[f] += check[f].within ? 1 : 0;
      result.worst[f].merge(check[f]);
    }
  }
  return result;
}

}  // namespace gqa
