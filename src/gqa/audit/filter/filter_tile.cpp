#include "gqa/audit/filter/filter_tile.hpp"

#include <algorithm>
#include <cmath>

#include "gqa/audit/filter/blas.hpp"
#include "gqa/audit/filter/filter_bias.hpp"
#include "gqa/audit/filter/vector_norms.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

// Scores of a tile whose tags are kept: 32 MiB.
constexpr std::int64_t most_tags = std::int64_t{1} << 23;

// Scores -> weights under the row's shift, and what the row keeps of them.
void exponentiate(RowState& row, double* scores, float* squares, std::size_t count) {
  if (squares == nullptr) {
    row.add(exp_row(scores, count, row.shift));
    return;
  }
  const WeightMoments moments =
      exp_row_with_squares(scores, squares, count, row.shift, row.reference);
  row.add(moments.first[0]);
  row.moments += moments;
}

}  // namespace

TileAccumulator::TileAccumulator(const FilterContext& context, const TilePlan& plan, bool with_sink)
    : context_(context),
      plan_(plan),
      reader_(context.problem, context.options, context.shape, plan.batch, plan.kv_head) {
  const AttentionProblem& problem = context.problem;
  norms_.column_maximum.assign(context.shape.value_stride, 0.0);
  for (const RowRun& run : plan.runs) {
    for (std::int64_t i = run.begin; i < run.end; ++i) {
      RowState& row = rows_.emplace_back();
      row.head = run.head;
      row.row = i;
      row.range = problem.visibility.range(plan.batch, i);
      row.range.begin = std::max<std::int64_t>(row.range.begin, 0);
      if (problem.sink && with_sink) row.start_with_sink((*problem.sink)[extent(run.head)]);
    }
  }
  sums_.assign(rows_.size() * context.shape.value_stride, 0.0);
  if (context.options.model_terms) square_sums_.assign(sums_.size(), 0.0);
  const auto rows = static_cast<std::int64_t>(rows_.size());
  tags_scores_ = context.options.equal_scores && rows * problem.dimensions.keys <= most_tags;
}

KeyRange TileAccumulator::keys() const {
  KeyRange keys{context_.problem.dimensions.keys, 0};
  for (const RowState& row : rows_) {
    if (row.range.empty()) continue;
    keys.begin = std::min(keys.begin, row.range.begin);
    keys.end = std::max(keys.end, row.range.end);
  }
  return keys;
}

void TileAccumulator::add_keys(KeyRange keys, FilterMemory& memory) {
  read_query(memory);
  for (std::int64_t begin = keys.begin; begin < keys.end; begin += context_.options.key_block) {
    add_block(begin, std::min(keys.end, begin + context_.options.key_block), memory);
  }
}

// Scales the query once, so that scores need no second pass.
void TileAccumulator::read_query(FilterMemory& memory) {
  const std::size_t stride = context_.shape.key_stride;
  double* to = memory.query.data();
  for (const RowRun& run : plan_.runs) {
    context_.problem.query.read_rows(plan_.batch, run.head, run.begin, run.end, to, stride);
    to += extent(run.size()) * stride;
  }
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    double* row = memory.query.data() + r * stride;
    for (std::size_t t = 0; t < stride; ++t) row[t] *= context_.constants.scale;
    if (!context_.options.radius) continue;
    rows_[r].query_square_sum = square_sum(row, stride);
    if (context_.options.model_terms) rows_[r].query_fourth_sum = fourth_power_sum(row, stride);
    if (std::isfinite(rows_[r].query_square_sum)) continue;
    rows_[r].open = true;
    std::fill_n(row, stride, 0.0);
  }
}

void TileAccumulator::open_rows_that_see(const std::vector<std::int64_t>& keys) {
  for (const std::int64_t key : keys) {
    for (RowState& row : rows_) {
      if (row.open || key < row.range.begin || key >= row.range.end) continue;
      row.open = context_.problem.visibility.mask_allows(plan_.batch, row.head, row.row, key);
    }
  }
}

void TileAccumulator::add_block(std::int64_t begin, std::int64_t end, FilterMemory& memory) {
  const FilterShape& shape = context_.shape;
  const std::size_t keys = extent(end - begin);
  open_rows_that_see(reader_.read(begin, end, memory, norms_));
  multiply_transposed(rows_.size(), keys, extent(context_.problem.dimensions.key_size),
                      {memory.query.data(), shape.key_stride},
                      {memory.key.data(), shape.key_stride}, {memory.scores.data(), shape.keys});
  std::vector<double>& factors = memory.factors;
  for (std::size_t r = 0; r < rows_.size(); ++r) factors[r] = weigh_row(r, begin, end, memory);
  multiply(rows_.size(), extent(context_.problem.dimensions.value_size), keys,
           {memory.scores.data(), shape.keys}, {memory.value.data(), shape.value_stride},
           {memory.products.data(), shape.value_stride});
  // The block's product is added here and not by the BLAS: a term of the sum so far goes
  // through one addition per block, whatever order the BLAS sums in.
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    rescale_and_add(sums_.data() + r * shape.value_stride,
                    memory.products.data() + r * shape.value_stride, factors[r],
                    shape.value_stride);
  }
  if (context_.options.model_terms) add_square_products(keys, factors, memory);
}

// Scores -> weights of one row, in place; returns the factor for the sums so far.
double TileAccumulator::weigh_row(std::size_t r, std::int64_t begin, std::int64_t end,
                                  FilterMemory& memory) {
  RowState& row = rows_[r];
  const std::size_t stride = context_.shape.keys;
  double* scores = memory.scores.data() + r * stride;
  float* squares =
      context_.options.model_terms ? memory.square_weights.data() + r * stride : nullptr;
  const KeyRange keys{std::max(row.range.begin, begin), std::min(row.range.end, end)};
  const auto clear = [&](std::size_t from, std::size_t to) {
    std::fill(scores + from, scores + to, 0.0);
    if (squares != nullptr) std::fill(squares + from, squares + to, 0.0F);
  };
  const std::size_t count = extent(end - begin);
  if (keys.empty()) {
    clear(0, count);
    return 1.0;
  }
  // Whole vectors, with minus infinity where the row sees nothing.
  const std::size_t first = extent(keys.begin - begin) / vector_padding * vector_padding;
  const std::size_t last = padded(extent(keys.end - begin));
  const double softcap = context_.constants.softcap;
  if (softcap > 0) softcap_row(scores + first, last - first, softcap);
  double* visible = scores + (keys.begin - begin);
  const std::size_t in_range = extent(keys.end - keys.begin);
  const bool tags_raw = tags_scores_ && context_.problem.has_bias();
  if (tags_raw) memory.raw.assign(visible, visible + in_range);
  apply_bias(row, keys, visible, memory);
  if (tags_scores_) row.tags.add(visible, in_range);
  if (tags_raw) {
    for (std::size_t j = 0; j < in_range; ++j) {
      if (visible[j] == hidden_score) memory.raw[j] = hidden_score;
    }
    row.raw_tags.add(memory.raw.data(), in_range);
  }
  std::fill(scores + first, scores + (keys.begin - begin), hidden_score);
  std::fill(scores + (keys.end - begin), scores + last, hidden_score);
  const double largest = row_maximum(scores + first, last - first);
  if (largest == hidden_score) {
    clear(0, count);
    return 1.0;
  }
  const double factor = row.raise_shift(largest);
  exponentiate(row, scores + first, squares == nullptr ? nullptr : squares + first, last - first);
  clear(0, first);
  if (last < count) clear(last, count);
  return factor;
}

void TileAccumulator::apply_bias(RowState& row, KeyRange keys, double* scores,
                                 FilterMemory& memory) {
  if (!needs_bias(context_.problem)) {
    row.visible += keys.end - keys.begin;
    return;
  }
  const BiasResult result = fill_bias(context_.problem, {plan_.batch, row.head, row.row},
                                      keys.begin, keys.end, memory.bias.data());
  row.visible += result.visible;
  row.open = row.open || !result.finite;
  const std::size_t count = extent(keys.end - keys.begin);
  for (std::size_t j = 0; j < count; ++j) scores[j] += memory.bias[j];
}

double TileAccumulator::largest_value() const {
  return *std::max_element(norms_.column_maximum.begin(), norms_.column_maximum.end());
}

// sum w^2 v^2 of the block in binary32, values scaled by a power of two to at most 1.
void TileAccumulator::add_square_products(std::size_t keys, const std::vector<double>& factors,
                                          FilterMemory& memory) {
  const FilterShape& shape = context_.shape;
  int exponent = 0;
  std::frexp(largest_value(), &exponent);
  exponent = std::clamp(exponent, -500, 1000);
  squares_as_single(memory.square_values.data(), memory.value.data(), std::ldexp(1.0, -exponent),
                    keys * shape.value_stride);
  multiply(rows_.size(), extent(context_.problem.dimensions.value_size), keys,
           {memory.square_weights.data(), shape.keys},
           {memory.square_values.data(), shape.value_stride},
           {memory.square_products.data(), shape.value_stride});
  const double scale = std::ldexp(1.0, 2 * exponent);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    rescale_and_add(square_sums_.data() + r * shape.value_stride,
                    memory.square_products.data() + r * shape.value_stride, scale,
                    factors[r] * factors[r], shape.value_stride);
  }
}

void TileAccumulator::join(TileAccumulator& other) {
  const std::size_t stride = context_.shape.value_stride;
  norms_.join(other.norms_);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    // Before join: a row whose query was read by no segment yet.
    rows_[r].query_square_sum =
        std::max(rows_[r].query_square_sum, other.rows_[r].query_square_sum);
    rows_[r].query_fourth_sum =
        std::max(rows_[r].query_fourth_sum, other.rows_[r].query_fourth_sum);
    const RowState::JoinFactors factors = rows_[r].join(other.rows_[r]);
    const auto add = [&](std::vector<double>& to, std::vector<double>& from, double own,
                         double others) {
      double* more = from.data() + r * stride;
      for (std::size_t c = 0; c < stride; ++c) more[c] *= others;
      rescale_and_add(to.data() + r * stride, more, own, stride);
    };
    add(sums_, other.sums_, factors.own, factors.others);
    if (context_.options.model_terms) {
      add(square_sums_, other.square_sums_, factors.own * factors.own,
          factors.others * factors.others);
    }
  }
}

FilterRow TileAccumulator::finish_row(std::size_t r) {
  const RowState& row = rows_[r];
  const std::size_t stride = context_.shape.value_stride;
  FilterRow result;
  result.head = row.head;
  result.row = row.row;
  result.open = row.open;
  result.visible = row.visible;
  result.maximum = row.maximum;
  double* sums = sums_.data() + r * stride;
  if (row.visible == 0 && !row.sink && !row.open) {
    result.empty = true;
    std::fill_n(sums, stride, 0.0);
    return result;
  }
  bool finite = true;
  for (std::size_t c = 0; c < stride; ++c) {
    sums[c] /= row.sum;
    finite = finite && std::isfinite(sums[c]);
  }
  result.open = result.open || !finite;
  result.lse = row.shift + std::log(row.sum);
  if (context_.options.radius) certify(row, result);
  if (!context_.options.model_terms) return result;
  result.statistics = row.statistics();
  result.most_equal_scores = most_equal_scores(row, result.score_radius);
  for (std::size_t c = 0; c < stride; ++c) {
    square_sums_[r * stride + c] = square_sums_[r * stride + c] / row.sum / row.sum;
  }
  return result;
}

std::int64_t TileAccumulator::most_equal_scores(const RowState& row, double score_radius) {
  if (!tags_scores_ || !(score_radius <= ScoreTags::largest_radius)) return 0;
  return std::max(row.tags.most_equal(scratch_), row.raw_tags.most_equal(scratch_));
}

void TileAccumulator::certify(const RowState& row, FilterRow& result) const {
  const RowBound bound =
      bound_row(context_.constants,
                row.history(context_.shape, context_.problem.dimensions, norms_.key_square_sum));
  result.open = result.open || !bound.usable;
  result.epsilon = bound.epsilon;
  result.relative = bound.relative;
  result.underflow = bound.underflow;
  result.score_radius = bound.score_radius;
  result.lse_radius = lse_radius(bound.epsilon, result.lse, row.sum);
}

void TileAccumulator::finish(const std::function<void(const FilterTile&)>& consume) {
  std::vector<FilterRow> rows;
  rows.reserve(rows_.size());
  for (std::size_t r = 0; r < rows_.size(); ++r) rows.push_back(finish_row(r));
  FilterTile tile;
  tile.index = plan_.index;
  tile.batch = plan_.batch;
  tile.kv_head = plan_.kv_head;
  tile.rows = rows;
  tile.columns = context_.problem.dimensions.value_size;
  tile.stride = context_.shape.value_stride;
  tile.values = sums_.data();
  tile.column_maximum = std::span(norms_.column_maximum).first(extent(tile.columns));
  if (context_.options.model_terms) {
    const double largest = largest_value();
    tile.square_sums = square_sums_.data();
    tile.squares_relative = squares_relative_error(context_.options.key_block);
    tile.squares_absolute =
        squares_absolute_error(context_.problem.dimensions.keys) * largest * largest + 0x1p-1000;
    tile.key_norm4_squared_minimum = std::sqrt(norms_.key_fourth_minimum);
    tile.key_norm4_squared_maximum = std::sqrt(norms_.key_fourth_maximum);
  }
  consume(tile);
}

}  // namespace gqa
