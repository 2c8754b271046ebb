#include "gqa/audit/filter/equal_sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "gqa/audit/filter/filter_bias.hpp"
#include "gqa/audit/models/likely_bound.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

// Sums that are kept of one row: 16 MiB.
constexpr std::size_t most_sums = std::size_t{1} << 20;

std::vector<std::int64_t> labels_of_scores(const EqualRow& row,
                                           const std::vector<std::size_t>& visible) {
  std::vector<std::size_t> order(visible.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto score = [&](std::size_t k) { return row.scores[visible[k]]; };
  std::ranges::sort(order, {}, score);
  // A little more, for the rounding of the difference.
  const double apart = 2 * (1 + 0x1p-40) * row.score_radius;
  return labels_of_runs(order,
                        [&](std::size_t a, std::size_t b) { return score(b) - score(a) <= apart; });
}

std::vector<std::int64_t> chosen(std::span<const std::int64_t> all,
                                 const std::vector<std::size_t>& visible) {
  std::vector<std::int64_t> some;
  if (all.empty()) return some;
  for (const std::size_t j : visible) some.push_back(all[j]);
  return some;
}

void add_size(Interval& sizes, const EqualClass& members, bool certain) {
  const double size = square(static_cast<double>(members.size()));
  sizes.upper += size;
  if (certain) sizes.lower += size;
}

// The root of sums of squares, and by how much it may be off.
struct Root {
  double squares = 0;
  double errors = 0;

  Interval square_between(double relative) const {
    const double centre = std::sqrt(squares);
    const double error = std::sqrt(errors) + relative * centre;
    return {square(std::max(0.0, centre - error)), square(centre + error)};
  }
};

}  // namespace

EqualSums::EqualSums(const EqualRow& row, std::vector<std::size_t> columns)
    : columns_(std::move(columns)) {
  std::vector<std::size_t> visible;
  for (std::size_t j = 0; j < row.scores.size(); ++j) {
    if (row.scores[j] != hidden_score) visible.push_back(j);
  }
  of_key_.assign(row.scores.size(), {-1, -1, -1});
  const std::vector<std::int64_t> kinds = chosen(row.keys, visible);
  const std::vector<std::int64_t> labels = labels_of_scores(row, visible);
  const std::vector<EqualClass> scores = classes_of(labels);
  std::vector<char> certain;
  for (const EqualClass& members : scores) {
    const bool is_one_key = std::ranges::all_of(
        members, [&](std::size_t k) { return kinds[k] == kinds[members.front()]; });
    certain.push_back(row.exact || (is_one_key && !row.biased) ? 1 : 0);
  }
  // Equal keys are counted once more where their scores may not be a class of their own.
  std::vector<EqualClass> keys;
  for (EqualClass& members : classes_of(kinds)) {
    const auto same = std::ranges::lower_bound(scores, members.front(), {},
                                               [](const EqualClass& c) { return c.front(); });
    const bool is_counted = same != scores.end() && *same == members &&
                            certain[static_cast<std::size_t>(same - scores.begin())] != 0;
    if (!is_counted) keys.push_back(std::move(members));
  }
  // Classes that are not certain may be none.
  for (std::size_t i = 0; i < scores.size(); ++i) add_size(sizes_, scores[i], certain[i] != 0);
  std::vector<EqualClass> values;
  if (row.rounds_values) values = classes_of(chosen(row.values, visible));
  usable_ = (scores.size() + keys.size() + values.size()) * columns_.size() <= most_sums;
  if (!usable_) return;
  take(scores, visible, What::scores, certain);
  take(keys, visible, What::keys, std::vector<char>(keys.size(), row.exact || !row.biased));
  take(values, visible, What::values, std::vector<char>(values.size(), 1));
  sums_.resize(classes_.size() * columns_.size());
  magnitudes_.resize(sums_.size());
}

void EqualSums::take(std::vector<EqualClass> classes, std::span<const std::size_t> visible,
                     What what, const std::vector<char>& certain) {
  for (std::size_t i = 0; i < classes.size(); ++i) {
    for (const std::size_t k : classes[i]) {
      of_key_[visible[k]][static_cast<std::size_t>(what)] =
          static_cast<std::int32_t>(classes_.size());
    }
    classes_.push_back({what, certain[i] != 0});
  }
}

void EqualSums::add(std::size_t key, double weight, double variance, const double* values) {
  for (const std::int32_t at : of_key_[key]) {
    if (at >= 0) add_class(static_cast<std::size_t>(at), weight, variance, values);
  }
}

void EqualSums::add_class(std::size_t at, double weight, double variance, const double* values) {
  Class& of = classes_[at];
  of.weight += weight;
  of.variance = std::max(of.variance, variance);
  const std::size_t first = at * columns_.size();
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const double value = values[columns_[i]];
    if (of.what == What::values) {
      sums_[first + i] = value;
    } else {
      sums_[first + i] += weight * value;
      magnitudes_[first + i] += weight * std::abs(value);
    }
  }
}

Interval EqualSums::variance(const PrecisionModel& model, std::size_t column, double output,
                             double magnitude, const Errors& errors) const {
  const auto found = std::ranges::lower_bound(columns_, column);
  if (found == columns_.end() || *found != column) {
    return {0, std::numeric_limits<double>::infinity()};
  }
  const auto at = static_cast<std::size_t>(found - columns_.begin());
  const double up2 = square(model.weight) / 3;
  Root away;          // sigma A
  Root weighted;      // u_p B
  double values = 0;  // u_v v sum w, squared
  double unsure = 0;  // of classes that may be none
  const double size = std::abs(output);
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    const Class& of = classes_[i];
    const double sum = sums_[i * columns_.size() + at];
    if (of.what == What::values) {
      values += equal_values_variance(model, of.weight, sum);
      continue;
    }
    const double total = magnitudes_[i * columns_.size() + at] + of.weight * size;
    const double error = errors.weight * total + errors.output * of.weight;
    if (of.certain) {
      away.squares += of.variance * square(sum - of.weight * output);
      away.errors += of.variance * square(error);
    } else {
      unsure += of.variance * square(total + error);
    }
    if (of.what != What::scores) continue;
    const double of_weights = errors.weight * magnitudes_[i * columns_.size() + at];
    if (of.certain) {
      weighted.squares += up2 * square(sum);
      weighted.errors += up2 * square(of_weights);
    } else {
      unsure += up2 * square(magnitudes_[i * columns_.size() + at] + of_weights);
    }
  }
  const Interval of_scores = away.square_between(errors.variance);
  const Interval of_weights = weighted.square_between(errors.weight);
  const double relative = 4 * errors.weight;
  // (sum over classes of numbers)^2 is at least the sum of their squares.
  const double of_values = equal_values_variance(model, 1.0, magnitude);
  const double more = unsure * (1 + errors.variance + relative);
  return {of_scores.lower + of_weights.lower + values * (1 - relative),
          of_scores.upper + of_weights.upper + of_values * (1 + relative) + more};
}

}  // namespace gqa
