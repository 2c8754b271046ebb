// What RoundingRows knows of keys that round alike.
#include <algorithm>
#include <numeric>

#include "gqa/audit/filter/filter_bias.hpp"
#include "gqa/audit/filter/rounding_rows.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa {

// The scores of all keys of those rows of which some may be equal.
void RoundingRows::keep_scores(std::span<const std::size_t> rows, const OperandReader& reader) {
  const auto block = static_cast<std::int64_t>(shape_.keys);
  for (const std::size_t k : rows) {
    rows_[k].scores.assign(extent(keys_.end - keys_.begin), hidden_score);
  }
  for (std::int64_t begin = keys_.begin; begin < keys_.end; begin += block) {
    const std::int64_t end = std::min(keys_.end, begin + block);
    score_block(reader, begin, end);
    for (const std::size_t k : rows) {
      const KeyRange range = problem_.visibility.range(tile_->batch, rows_[k].source->row);
      const KeyRange keys{std::max(range.begin, begin), std::min(range.end, end)};
      if (keys.empty()) continue;
      const std::vector<double> scores = score_row(*rows_[k].source, k, keys, begin);
      std::copy(scores.begin() + (keys.begin - begin), scores.begin() + (keys.end - begin),
                rows_[k].scores.begin() + (keys.begin - keys_.begin));
    }
  }
}

void RoundingRows::find_equal(std::span<const std::size_t> rows,
                              std::span<const std::vector<std::size_t>> columns,
                              const OperandReader& reader) {
  std::vector<std::size_t> some;
  for (const std::size_t k : rows) {
    if (rows_[k].may_repeat) some.push_back(k);
  }
  if (some.empty()) return;
  keep_scores(some, reader);
  const bool rounds_values = context_.model.value > 0;
  equal_history_ = context_.equal != nullptr
                       ? context_.equal->of(tile_->batch, tile_->kv_head)
                       : std::make_shared<const EqualHistory>(problem_, tile_->batch,
                                                              tile_->kv_head, rounds_values);
  const auto in_tile = [&](const RowKinds& kinds) {
    return std::span(kinds.numbers).subspan(extent(keys_.begin), extent(keys_.end - keys_.begin));
  };
  std::vector<std::size_t> all(extent(tile_->columns));
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Row& row = rows_[rows[i]];
    if (!row.may_repeat) continue;
    EqualRow equal{row.scores, in_tile(equal_history_->keys), in_tile(equal_history_->values),
                   row.source->score_radius};
    equal.rounds_values = rounds_values;
    equal.biased = problem_.has_bias();
    // A query of zeros: all scores are.
    equal.exact = row.query_norm2 == 0 && !equal.biased;
    row.equal.emplace(equal, columns.empty() || columns[i].empty() ? all : columns[i]);
    row.least.equal_weights = row.equal->weights().lower;
    row.most.equal_weights = row.equal->weights().upper;
    row.scores = {};
  }
}

void RoundingRows::bound_equal(const Row& row, std::size_t at, double radius,
                               LikelyColumn<double>& sums, bool upper) const {
  if (!row.equal->is_usable()) {
    sums.equal_classes = upper ? std::numeric_limits<double>::infinity() : 0;
    return;
  }
  const auto end = [upper](const Interval& bounds) { return upper ? bounds.upper : bounds.lower; };
  const std::size_t column = at % shape_.value_stride;
  const bool values_differ =
      context_.model.value == 0 || equal_history_->most_equal_values[column] == 1;
  const double magnitude = values_differ ? 0 : with_magnitudes(weights, at);
  sums.equal_classes =
      end(row.equal->variance(context_.model, column, output(row, column), magnitude,
                              {radius, row.weight_error, row.variance_error}));
}

}  // namespace gqa
