#include "gqa/audit/gradients/gradient_pairs.hpp"

#include <algorithm>
#include <cmath>

#include "gqa/audit/filter/blas.hpp"
#include "gqa/audit/filter/filter_bias.hpp"
#include "gqa/audit/filter/vector_exp.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

FilterOptions options_of_pairs() {
  FilterOptions options;
  options.key_block = static_cast<std::int64_t>(GradientPairs::most_keys);
  return options;
}

}  // namespace

GradientPairs::GradientPairs(const GradientProblem& gradient, const HistoryGradients& found,
                             const GradientCopies& copies)
    : gradient_(gradient),
      problem_(gradient.problem),
      found_(found),
      facts_(found.facts),
      copies_(copies),
      constants_(problem_),
      options_(options_of_pairs()),
      shape_(problem_.dimensions, options_, static_cast<std::int64_t>(most_rows)),
      memory_(shape_, false),
      reader_(problem_, options_, shape_, facts_.batch, facts_.kv_head),
      query_(most_rows * shape_.key_stride),
      grad_(most_rows * shape_.value_stride),
      raw_(most_rows * shape_.keys),
      capped_(raw_.size()),
      scores_(raw_.size()),
      products_(raw_.size()) {
  norms_.column_maximum.assign(shape_.value_stride, 0.0);
}

double GradientPairs::hidden() {
  return hidden_score;
}

void GradientPairs::take_rows(std::span<const std::size_t> rows) {
  rows_.assign(rows.begin(), rows.end());
  range_ = {0, 0};
  const auto queries = extent(gradient_.queries());
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const std::int64_t head = facts_.heads[rows_[r] / queries];
    const auto i = static_cast<std::int64_t>(rows_[r] % queries);
    problem_.query.read_rows(facts_.batch, head, i, i + 1, query_.data() + r * shape_.key_stride,
                             shape_.key_stride);
    gradient_.grad_output.read_rows(facts_.batch, head, i, i + 1,
                                    grad_.data() + r * shape_.value_stride, shape_.value_stride);
    KeyRange range = problem_.visibility.range(facts_.batch, i);
    range.begin = std::max<std::int64_t>(range.begin, 0);
    if (range.empty()) continue;
    range_ = range_.empty()
                 ? range
                 : KeyRange{std::min(range_.begin, range.begin), std::max(range_.end, range.end)};
  }
}

void GradientPairs::take_keys(std::int64_t begin, std::int64_t end) {
  begin_ = extent(begin);
  keys_ = extent(end - begin);
  // Rows that see what is not finite are open; for the others it is zero.
  reader_.read(begin, end, memory_, norms_);
  multiply_transposed(rows_.size(), keys_, extent(constants_.key_size),
                      {query_.data(), shape_.key_stride}, {memory_.key.data(), shape_.key_stride},
                      {raw_.data(), shape_.keys});
  multiply_transposed(rows_.size(), keys_, extent(problem_.dimensions.value_size),
                      {grad_.data(), shape_.value_stride},
                      {memory_.value.data(), shape_.value_stride}, {products_.data(), shape_.keys});
  for (std::size_t r = 0; r < rows_.size(); ++r) finish_row(r);
}

void GradientPairs::finish_row(std::size_t r) {
  const std::size_t at = r * shape_.keys;
  for (std::size_t j = 0; j < keys_; ++j) raw_[at + j] *= constants_.scale;
  std::copy_n(raw_.begin() + static_cast<std::ptrdiff_t>(at), shape_.keys,
              capped_.begin() + static_cast<std::ptrdiff_t>(at));
  if (constants_.softcap > 0) softcap_row(capped_.data() + at, shape_.keys, constants_.softcap);
  double* scores = scores_.data() + at;
  std::fill_n(scores, shape_.keys, hidden_score);
  const auto queries = extent(gradient_.queries());
  const auto i = static_cast<std::int64_t>(rows_[r] % queries);
  const KeyRange range = problem_.visibility.range(facts_.batch, i);
  const auto begin = static_cast<std::int64_t>(begin_);
  const KeyRange keys{std::max({range.begin, begin, std::int64_t{0}}),
                      std::min(range.end, begin + static_cast<std::int64_t>(keys_))};
  if (keys.empty()) return;
  const std::size_t first = extent(keys.begin - begin);
  std::copy_n(capped_.data() + at + first, extent(keys.end - keys.begin), scores + first);
  if (!needs_bias(problem_)) return;
  fill_bias(problem_, {facts_.batch, facts_.heads[rows_[r] / queries], i}, keys.begin, keys.end,
            memory_.bias.data());
  for (std::int64_t j = keys.begin; j < keys.end; ++j) {
    scores[j - begin] += memory_.bias[extent(j - keys.begin)];
  }
}

GradientPair<double> GradientPairs::pair(std::size_t r, std::size_t j) const {
  const std::size_t at = r * shape_.keys + j;
  GradientPair<double> pair;
  pair.weight = std::exp(scores_[at] - found_.rows[rows_[r]].lse);
  pair.raw = raw_[at];
  pair.score = scores_[at];
  pair.capped = capped_[at];
  pair.product = products_[at];
  pair.key4 = facts_.key4[begin_ + j];
  pair.value4 = facts_.value4[begin_ + j];
  pair.copies = copies_.key[begin_ + j];
  return pair;
}

double GradientPairs::norms(std::size_t r, std::size_t j) const {
  return facts_.grad_norm[rows_[r]] * facts_.value_norms[begin_ + j];
}

}  // namespace gqa
