#include "gqa/audit/gradients/gradient_tile.hpp"

#include <algorithm>
#include <limits>

#include "gqa/audit/filter/blas.hpp"
#include "gqa/audit/filter/filter_bias.hpp"
#include "gqa/audit/filter/vector_exp.hpp"
#include "gqa/audit/filter/vector_norms.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

class Tile {
 public:
  Tile(const GradientContext& context, const TilePlan& plan, GradientMemory& memory,
       GradientPart& query, GradientKeyTotals& totals)
      : context_(context),
        problem_(context.gradient.problem),
        memory_(memory),
        query_(query),
        totals_(totals),
        reader_(problem_, context.filter, context.shape, plan.batch, plan.kv_head),
        plan_(plan) {
    norms_.column_maximum.assign(context.shape.value_stride, 0.0);
    for (const RowRun& run : plan.runs) {
      for (std::int64_t i = run.begin; i < run.end; ++i) rows_.push_back(row(run.head, i));
    }
  }

  void run() {
    KeyRange keys{0, 0};
    for (const Row& row : rows_) {
      if (row.range.empty()) continue;
      keys = keys.empty() ? row.range
                          : KeyRange{std::min(keys.begin, row.range.begin),
                                     std::max(keys.end, row.range.end)};
    }
    if (keys.empty()) return;
    read_rows();
    const std::int64_t block = context_.options.key_block;
    for (std::int64_t begin = keys.begin; begin < keys.end; begin += block) {
      add_block(begin, std::min(keys.end, begin + block));
    }
    for (const Row& row : rows_) finish_row(row);
  }

 private:
  struct Row {
    std::int64_t head;
    std::int64_t i;
    std::size_t at;  // in the group
    KeyRange range;
    const GradientRow* facts;
    GradientRowFactors factors;
    GradientRowSums sums;
  };

  Row row(std::int64_t head, std::int64_t i) const {
    Row row{};
    row.head = head;
    row.i = i;
    row.at = context_.row(head, i);
    row.facts = &context_.rows[row.at];
    row.range = problem_.visibility.range(plan_.batch, i);
    row.range.begin = std::max<std::int64_t>(row.range.begin, 0);
    if (row.facts->open || row.facts->silent) row.range = {0, 0};
    if (!context_.options.radius || row.range.empty()) return row;
    const GradientRowBound& bound = row.facts->bound;
    const double share = context_.facts.query.share[row.at];
    const double scaled = context_.constants.scale_error + 0x1p-51;
    row.factors.key_weight = bound.difference * share;
    row.factors.key_product = (bound.product + context_.depth_of_rows + scaled) * share;
    row.factors.value_weight =
        (bound.weight + context_.depth_of_rows) * context_.facts.grad.share[row.at];
    return row;
  }

  void read_rows() {
    const FilterShape& shape = context_.shape;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      double* query = memory_.filter.query.data() + r * shape.key_stride;
      double* grad = memory_.grad.data() + r * shape.value_stride;
      if (rows_[r].range.empty()) {
        std::fill_n(query, shape.key_stride, 0.0);
        std::fill_n(grad, shape.value_stride, 0.0);
        continue;
      }
      const Row& row = rows_[r];
      problem_.query.read_rows(plan_.batch, row.head, row.i, row.i + 1, query, shape.key_stride);
      for (std::size_t t = 0; t < shape.key_stride; ++t) query[t] *= context_.constants.scale;
      context_.gradient.grad_output.read_rows(plan_.batch, row.head, row.i, row.i + 1, grad,
                                              shape.value_stride);
    }
    if (context_.options.model == nullptr) return;
    squares_as_single(memory_.query_squares.data(), memory_.filter.query.data(),
                      context_.units.query, rows_.size() * shape.key_stride);
    squares_as_single(memory_.grad_squares.data(), memory_.grad.data(), context_.units.grad,
                      rows_.size() * shape.value_stride);
    std::fill(memory_.means.begin(), memory_.means.end(), 0.0);
  }

  void add_block(std::int64_t begin, std::int64_t end) {
    const FilterShape& shape = context_.shape;
    const Dimensions& d = problem_.dimensions;
    FilterMemory& memory = memory_.filter;
    const std::size_t keys = extent(end - begin);
    const std::size_t rows = rows_.size();
    reader_.read(begin, end, memory, norms_);
    multiply_transposed(rows, keys, extent(d.key_size), {memory.query.data(), shape.key_stride},
                        {memory.key.data(), shape.key_stride}, {memory.scores.data(), shape.keys});
    multiply_transposed(rows, keys, extent(d.value_size), {memory_.grad.data(), shape.value_stride},
                        {memory.value.data(), shape.value_stride},
                        {memory_.derivatives.data(), shape.keys});
    for (std::size_t r = 0; r < rows; ++r) derive_row(r, begin, end);
    const double* weights = memory.scores.data();
    const double* derivatives = memory_.derivatives.data();
    multiply(rows, extent(d.key_size), keys, {derivatives, shape.keys},
             {memory.key.data(), shape.key_stride},
             {memory_.query_products.data(), shape.key_stride});
    multiply_left_transposed(keys, extent(d.key_size), rows, {derivatives, shape.keys},
                             {memory.query.data(), shape.key_stride},
                             {memory_.key_products.data(), shape.key_stride});
    multiply_left_transposed(keys, extent(d.value_size), rows, {weights, shape.keys},
                             {memory_.grad.data(), shape.value_stride},
                             {memory_.value_products.data(), shape.value_stride});
    // Added here and not by the BLAS: one addition per block and term, see TileAccumulator.
    for (std::size_t r = 0; r < rows; ++r) {
      rescale_and_add(query_.values.data() + rows_[r].at * query_.stride,
                      memory_.query_products.data() + r * shape.key_stride, 1.0, shape.key_stride);
    }
    const std::size_t first = extent(begin - context_.facts.seen.begin);
    rescale_and_add(totals_.key.data() + first * shape.key_stride, memory_.key_products.data(), 1.0,
                    keys * shape.key_stride);
    rescale_and_add(totals_.value.data() + first * shape.value_stride,
                    memory_.value_products.data(), 1.0, keys * shape.value_stride);
    if (context_.options.model != nullptr) add_variances(begin, keys);
  }

  // Three products of what variances are made of, and the keys' mean.
  void add_variances(std::int64_t begin, std::size_t keys) {
    const FilterShape& shape = context_.shape;
    const GradientUnits& units = context_.units;
    const std::size_t rows = rows_.size();
    const std::size_t dk = extent(problem_.dimensions.key_size);
    const std::size_t dv = extent(problem_.dimensions.value_size);
    const double* key = memory_.filter.key.data();
    squares_as_single(memory_.key_squares.data(), key, units.key, keys * shape.key_stride);
    for (std::size_t e = 0; e < keys * shape.key_stride; ++e) {
      memory_.key_values[e] = static_cast<float>(key[e] * units.key);
    }
    float* products = memory_.products.data();
    multiply(rows, dk, keys, {memory_.query_factors.data(), shape.keys},
             {memory_.key_squares.data(), shape.key_stride}, {products, shape.key_stride});
    const double derivative = 1 / square(units.derivative);
    for (std::size_t r = 0; r < rows; ++r) {
      rescale_and_add(query_.variances.data() + rows_[r].at * query_.stride,
                      products + r * shape.key_stride, derivative / square(units.key), 1.0,
                      shape.key_stride);
    }
    multiply(rows, dk, keys, {memory_.weights.data(), shape.keys},
             {memory_.key_values.data(), shape.key_stride}, {products, shape.key_stride});
    rescale_and_add(memory_.means.data(), products, 1 / units.key, 1.0, rows * shape.key_stride);
    const std::size_t first = extent(begin - context_.facts.seen.begin);
    multiply_left_transposed(keys, dk, rows, {memory_.key_factors.data(), shape.keys},
                             {memory_.query_squares.data(), shape.key_stride},
                             {products, shape.key_stride});
    rescale_and_add(totals_.key_variances.data() + first * shape.key_stride, products,
                    derivative / square(units.query), 1.0, keys * shape.key_stride);
    multiply_left_transposed(keys, dv, rows, {memory_.value_factors.data(), shape.keys},
                             {memory_.grad_squares.data(), shape.value_stride},
                             {products, shape.value_stride});
    rescale_and_add(totals_.value_variances.data() + first * shape.value_stride, products,
                    1 / square(units.grad), 1.0, keys * shape.value_stride);
  }

  GradientVariances variances_of(std::size_t r) {
    const std::size_t at = r * context_.shape.keys;
    return {memory_.weights.data() + at, memory_.query_factors.data() + at,
            memory_.key_factors.data() + at, memory_.value_factors.data() + at};
  }

  // Scores -> weights, g.v -> derivatives, of one row.
  void derive_row(std::size_t r, std::int64_t begin, std::int64_t end) {
    Row& row = rows_[r];
    const std::size_t stride = context_.shape.keys;
    double* weights = memory_.filter.scores.data() + r * stride;
    double* derivatives = memory_.derivatives.data() + r * stride;
    const std::size_t count = extent(end - begin);
    const std::size_t whole = padded(count);
    const KeyRange keys{std::max(row.range.begin, begin), std::min(row.range.end, end)};
    if (keys.empty()) {
      std::fill_n(weights, whole, 0.0);
      std::fill_n(derivatives, whole, 0.0);
      if (context_.options.model != nullptr) {
        variance_factors(weights, derivatives, whole, {}, variances_of(r));
      }
      return;
    }
    std::fill(derivatives + count, derivatives + whole, 0.0);
    std::fill(weights, weights + (keys.begin - begin), hidden_score);
    std::fill(weights + (keys.end - begin), weights + whole, hidden_score);
    const double cap = context_.constants.softcap;
    const double* slope = nullptr;
    if (cap > 0) {
      softcap_row(weights, whole, cap);
      softcap_slopes(memory_.slope.data(), weights, cap, whole);
      slope = memory_.slope.data();
      // tanh has made numbers of what is hidden.
      std::fill(weights, weights + (keys.begin - begin), hidden_score);
      std::fill(weights + (keys.end - begin), weights + whole, hidden_score);
    }
    if (needs_bias(problem_)) {
      fill_bias(problem_, {plan_.batch, row.head, row.i}, keys.begin, keys.end,
                memory_.filter.bias.data());
      for (std::int64_t j = keys.begin; j < keys.end; ++j) {
        weights[j - begin] += memory_.filter.bias[extent(j - keys.begin)];
      }
    }
    exp_row(weights, whole, row.facts->lse);
    finish_derivatives(row, weights, derivatives, slope, begin, whole);
    if (context_.options.model == nullptr) return;
    variance_factors(weights, derivatives, whole, context_.variances[row.at], variances_of(r));
  }

  void finish_derivatives(Row& row, const double* weights, double* derivatives, const double* slope,
                          std::int64_t begin, std::size_t count) {
    if (!context_.options.radius) {
      score_derivatives(derivatives, weights, slope, row.facts->subtracted, count);
      return;
    }
    const std::size_t first = extent(begin - context_.facts.seen.begin);
    const GradientKeySums sums{totals_.key_spread.data() + first,
                               totals_.value_spread.data() + first};
    const GradientRowSums more =
        score_derivatives(derivatives, weights, slope, row.facts->subtracted, count,
                          context_.shares.data() + first, row.factors, sums);
    row.sums.weight += more.weight;
    row.sums.product += more.product;
  }

  void finish_row(const Row& row) {
    if (!context_.options.radius || row.range.empty()) return;
    const GradientRowBound& bound = row.facts->bound;
    query_.spread[row.at] = bound.difference * row.sums.weight +
                            (bound.product + context_.depth_of_keys) * row.sums.product;
    if (context_.options.model == nullptr) return;
    // What delta errs by moves the row along its mean key.
    const double delta_variance = context_.delta_variances[row.at];
    const auto r = extent(&row - rows_.data());
    for (std::size_t c = 0; c < context_.shape.key_stride; ++c) {
      const double mean = memory_.means[r * context_.shape.key_stride + c];
      // Sums in binary32 of terms whose magnitudes add up to the largest key's.
      const double sure = std::max(0.0, std::abs(mean) - 0x1p-14 / context_.units.key);
      query_.variances[row.at * query_.stride + c] += delta_variance * square(sure);
    }
  }

  const GradientContext& context_;
  const AttentionProblem& problem_;
  GradientMemory& memory_;
  GradientPart& query_;
  GradientKeyTotals& totals_;
  OperandReader reader_;
  const TilePlan& plan_;
  OperandNorms norms_;
  std::vector<Row> rows_;
};

}  // namespace

std::size_t GradientContext::row(std::int64_t head, std::int64_t i) const {
  const auto at = std::ranges::lower_bound(facts.heads, head);
  return facts.row(at - facts.heads.begin(), i, gradient.queries());
}

void add_gradient_tile(const GradientContext& context, const TilePlan& plan, GradientMemory& memory,
                       GradientPart& query, GradientKeyTotals& totals) {
  Tile(context, plan, memory, query, totals).run();
}

}  // namespace gqa
