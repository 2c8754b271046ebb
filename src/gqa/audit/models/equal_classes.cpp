#include "gqa/audit/models/equal_classes.hpp"

#include <algorithm>
#include <numeric>

namespace gqa {

// In the order of their first members.
std::vector<EqualClass> classes_of(std::span<const std::int64_t> labels) {
  std::vector<EqualClass> classes;
  if (labels.empty()) return classes;
  const auto size = static_cast<std::size_t>(*std::ranges::max_element(labels)) + 1;
  std::vector<std::int32_t> counts(size), places(size, -1);
  for (const std::int64_t label : labels) ++counts[static_cast<std::size_t>(label)];
  for (std::size_t k = 0; k < labels.size(); ++k) {
    const auto label = static_cast<std::size_t>(labels[k]);
    if (counts[label] < 2) continue;
    if (places[label] < 0) {
      places[label] = static_cast<std::int32_t>(classes.size());
      classes.emplace_back().reserve(static_cast<std::size_t>(counts[label]));
    }
    classes[static_cast<std::size_t>(places[label])].push_back(k);
  }
  return classes;
}

EqualClasses equal_classes(std::span<const std::int64_t> scores,
                           std::span<const std::int64_t> keys) {
  EqualClasses classes{classes_of(scores), {}};
  for (EqualClass& members : classes_of(keys)) {
    const auto same = std::ranges::lower_bound(classes.scores, members.front(), {},
                                               [](const EqualClass& c) { return c.front(); });
    if (same == classes.scores.end() || *same != members)
      classes.keys.push_back(std::move(members));
  }
  return classes;
}

std::vector<EqualClass> equal_numbers(const EqualClass& members, std::span<const double> numbers) {
  EqualClass order = members;
  std::ranges::sort(order, {}, [numbers](std::size_t k) { return numbers[k]; });
  std::vector<EqualClass> classes;
  for (std::size_t begin = 0, i = 1; i <= order.size(); ++i) {
    if (i < order.size() && numbers[order[i]] == numbers[order[begin]]) continue;
    if (i - begin > 1) {
      classes.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(begin),
                           order.begin() + static_cast<std::ptrdiff_t>(i));
    }
    begin = i;
  }
  return classes;
}

double squared_sizes(const std::vector<EqualClass>& classes) {
  double sum = 0;
  for (const EqualClass& members : classes) {
    sum += static_cast<double>(members.size()) * static_cast<double>(members.size());
  }
  return sum;
}

std::vector<std::int64_t> labels_of_enclosed(const std::vector<Ball>& numbers) {
  std::vector<std::size_t> order(numbers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return midpoint_less(numbers[a], numbers[b]); });
  return labels_of_runs(order, [&](std::size_t a, std::size_t b) {
    return !less(numbers[a], numbers[b]).certainly();
  });
}

}  // namespace gqa
