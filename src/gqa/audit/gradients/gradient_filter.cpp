#include "gqa/audit/gradients/gradient_filter.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "gqa/audit/filter/blas.hpp"
#include "gqa/audit/filter/filter.hpp"
#include "gqa/audit/gradients/gradient_model.hpp"
#include "gqa/audit/gradients/gradient_sure.hpp"
#include "gqa/audit/gradients/gradient_tile.hpp"
#include "gqa/num/arithmetic.hpp"
#include "gqa/num/roundoff.hpp"

namespace gqa {
namespace {

void start_part(GradientPart& part, std::int64_t rows, std::size_t stride, bool model) {
  part.stride = stride;
  part.values.assign(extent(rows) * stride, 0.0);
  part.spread.assign(extent(rows), 0.0);
  part.open.assign(extent(rows), 0);
  if (model) part.variances.assign(part.values.size(), 0.0);
}

// One history on its way through the rung.
class HistoryRun {
 public:
  HistoryRun(const GradientProblem& gradient, std::int64_t batch, std::int64_t kv_head,
             const GradientFilterOptions& options)
      : gradient_(gradient), problem_(gradient.problem), options_(options), constants_(problem_) {
    filter_.tile_rows = options.tile_rows;
    filter_.key_block = options.key_block;
    filter_.key_segment = std::max(filter_.key_segment, options.key_block);
    filter_.radius = options.radius;
    result_.facts =
        options.radius ? gradient_facts(gradient, batch, kv_head) : plain_facts(batch, kv_head);
    const Dimensions& d = problem_.dimensions;
    const FilterShape shape(d, filter_, 1);
    const auto rows = static_cast<std::int64_t>(result_.facts.heads.size()) * d.queries;
    const bool model = options.model != nullptr;
    start_part(result_.query, rows, shape.key_stride, model);
    start_part(result_.key, d.keys, shape.key_stride, model);
    start_part(result_.value, d.keys, shape.value_stride, model);
    result_.rows.resize(extent(rows));
    if (model) {
      roundings_.emplace(gradient_roundings(*options.model, gradient_));
      variances_.resize(extent(rows));
      delta_variances_.resize(extent(rows));
      sure_.emplace(*roundings_, result_.facts);
      units_ = units_of(result_.facts);
    }
    for (const TilePlan& plan : plan_tiles(problem_, filter_)) {
      if (plan.batch == batch && plan.kv_head == kv_head) plans_.push_back(plan);
    }
  }

  HistoryGradients run() {
    if (plans_.empty() || result_.facts.seen.empty()) return finish(nullptr);
    read_outputs();
    open_what_open_rows_see();
    std::int64_t largest = 0;
    for (const TilePlan& plan : plans_) largest = std::max(largest, plan.size());
    const FilterShape shape(problem_.dimensions, filter_, largest);
    const auto totals = multiply(shape);
    return finish(totals.get());
  }

 private:
  GradientUnits units_of(const GradientFacts& facts) const {
    const auto unit = [](double largest) {
      int exponent = 0;
      std::frexp(largest, &exponent);
      return std::ldexp(1.0, -std::clamp(exponent, -500, 500));
    };
    if (facts.rows() == 0) return {};
    const double query = *std::ranges::max_element(facts.query_norm);
    const double grad = *std::ranges::max_element(facts.grad_norm);
    return {unit(2 * grad * facts.value_norm + facts.largest_grad_lse),
            unit(query * constants_.scale), unit(facts.key_norm), unit(grad)};
  }

  GradientFacts plain_facts(std::int64_t batch, std::int64_t kv_head) const {
    GradientFacts facts;
    facts.batch = batch;
    facts.kv_head = kv_head;
    facts.heads = gradient_.group_of(kv_head);
    facts.seen = gradient_.seen_keys(batch);
    return facts;
  }

  // The forward pass, certified: lse and delta of every row.
  void read_outputs() {
    filter_.tiles.emplace();
    for (const TilePlan& plan : plans_) filter_.tiles->push_back(plan.index);
    filter_reference(problem_, filter_, [this](const FilterTile& tile) {
      std::vector<double> grad(extent(problem_.dimensions.value_size));
      for (std::size_t r = 0; r < tile.rows.size(); ++r) read_output(tile, r, grad);
    });
    filter_.tiles.reset();
  }

  void read_output(const FilterTile& tile, std::size_t r, std::vector<double>& grad) {
    const GradientFacts& facts = result_.facts;
    const FilterRow& found = tile.rows[r];
    const auto member = std::ranges::lower_bound(facts.heads, found.head) - facts.heads.begin();
    const std::size_t at = facts.row(member, found.row, gradient_.queries());
    GradientRow& row = result_.rows[at];
    row.silent = !gradient_.counts(member) || (found.visible == 0 && !found.open);
    if (row.silent) return;
    gradient_.grad_output.read_rows(tile.batch, found.head, found.row, found.row + 1, grad.data(),
                                    grad.size());
    const GradientDelta delta = gradient_delta(
        tile, r, grad.data(), gradient_.grad_lse_of(tile.batch, found.head, found.row));
    row.lse = found.lse;
    row.maximum = found.maximum;
    row.delta = delta.of_output;
    row.subtracted = delta.value;
    if (!options_.radius) return;
    row.terms = found.visible + (problem_.sink_of(found.head) ? 1 : 0);
    row.open = found.open || facts.grad_finite[at] == 0 || !facts.moderate;
    if (row.open) return;
    row.bound = gradient_row_bound(constants_, found, problem_.dimensions.value_size, delta.error,
                                   facts.grad_norm[at], facts.value_norm);
    row.open = !row.bound.usable || !std::isfinite(row.subtracted) || !std::isfinite(row.lse);
    if (row.open || options_.model == nullptr) return;
    for (std::size_t c = 0; c < grad.size(); ++c) {
      row.output.add(*roundings_, grad[c], tile.output(r, static_cast<std::int64_t>(c)));
    }
    const GradientRowWorst<double> worst = gradient_row_worst(
        *options_.model, gradient_,
        gradient_row_size<double>(gradient_, facts, at, row.terms, row.lse, constants_.scale));
    variances_[at] = sure_->factors({at, row.terms, row.lse, row.output}, worst, units_.derivative);
    delta_variances_[at] = sure_->delta(row.output, worst);
  }

  template <class Use>
  void for_visible_keys(std::int64_t head, std::int64_t i, const Use& use) const {
    const KeyRange range = problem_.visibility.range(result_.facts.batch, i);
    for (std::int64_t j = std::max<std::int64_t>(range.begin, 0); j < range.end; ++j) {
      if (problem_.visibility.mask_allows(result_.facts.batch, head, i, j)) use(extent(j));
    }
  }

  // A row without weights leaves its mark on the keys that it sees.
  void open_what_open_rows_see() {
    for (std::size_t r = 0; r < result_.rows.size(); ++r) {
      if (!result_.rows[r].open) continue;
      result_.query.open[r] = 1;
      const auto queries = extent(gradient_.queries());
      for_visible_keys(result_.facts.heads[r / queries], static_cast<std::int64_t>(r % queries),
                       [&](std::size_t j) { result_.key.open[j] = 1; });
    }
  }

  std::unique_ptr<GradientKeyTotals> multiply(const FilterShape& shape) {
    const GradientFacts& facts = result_.facts;
    const std::int64_t keys = facts.seen.end - facts.seen.begin;
    std::vector<double> shares(extent(keys) + shape.keys, 0.0);
    if (options_.radius) {
      std::copy(facts.key.share.begin() + facts.seen.begin,
                facts.key.share.begin() + facts.seen.end, shares.begin());
    }
    // The split depends on the problem alone.
    const std::int64_t histories = problem_.dimensions.batch * problem_.dimensions.kv_heads;
    const auto tiles = static_cast<std::int64_t>(plans_.size());
    const std::int64_t chunks =
        std::clamp<std::int64_t>(16 / histories, 1, std::min<std::int64_t>(tiles, 8));
    const std::int64_t blocks = (keys + options_.key_block - 1) / options_.key_block + 1;
    const GradientContext context{
        gradient_,
        options_,
        filter_,
        facts,
        constants_,
        shape,
        result_.rows,
        variances_,
        delta_variances_,
        units_,
        shares,
        summation_error(options_.key_block + blocks + 4),
        summation_error(static_cast<std::int64_t>(shape.rows) + tiles + chunks + 4)};
    std::vector<std::unique_ptr<GradientKeyTotals>> parts(extent(chunks));
    const SingleThreadedBlas blas;
    tbb::parallel_for(std::int64_t{0}, chunks, [&](std::int64_t chunk) {
      auto part = std::make_unique<GradientKeyTotals>(shape, keys, options_.model != nullptr);
      GradientMemory memory(shape, options_.model != nullptr);
      for (std::int64_t t = tiles * chunk / chunks; t < tiles * (chunk + 1) / chunks; ++t) {
        add_gradient_tile(context, plans_[extent(t)], memory, result_.query, *part);
      }
      parts[extent(chunk)] = std::move(part);
    });
    for (std::size_t chunk = 1; chunk < parts.size(); ++chunk) parts[0]->add(*parts[chunk]);
    return std::move(parts[0]);
  }

  HistoryGradients finish(const GradientKeyTotals* totals) {
    const GradientFacts& facts = result_.facts;
    if (totals != nullptr) {
      const auto place = [&](std::vector<double>& to, const std::vector<double>& from,
                             std::size_t stride) {
        if (from.empty()) return;
        std::copy_n(from.begin(), extent(facts.seen.end - facts.seen.begin) * stride,
                    to.begin() + facts.seen.begin * static_cast<std::int64_t>(stride));
      };
      place(result_.key.values, totals->key, result_.key.stride);
      place(result_.value.values, totals->value, result_.value.stride);
      place(result_.key.spread, totals->key_spread, 1);
      place(result_.value.spread, totals->value_spread, 1);
      place(result_.key.variances, totals->key_variances, result_.key.stride);
      place(result_.value.variances, totals->value_variances, result_.value.stride);
    }
    result_.value.open = result_.key.open;
    finish_parts();
    return std::move(result_);
  }

  void finish_parts() {
    const double scale = constants_.scale;
    const double factor =
        gradient_.factor(static_cast<std::int64_t>(result_.facts.heads.size())).get_d();
    const bool missing = gradient_.rule.scale_missing;
    // The queries are scaled already.
    finish_part(result_.query, missing ? factor : factor * scale);
    finish_part(result_.key, missing ? factor / scale : factor);
    finish_part(result_.value, factor);
    if (!options_.radius) return;
    bound_part(result_.query, result_.facts.key, missing ? 1 : scale, factor);
    bound_part(result_.key, result_.facts.query, missing ? 1 : scale, factor);
    bound_part(result_.value, result_.facts.grad, 1, factor);
  }

  static void finish_part(GradientPart& part, double factor) {
    for (double& value : part.values) value *= factor;
    for (double& variance : part.variances) variance *= square(factor);
  }

  // Spreads so far are those of sums of derivatives or weights; what multiplies them is a number
  // in each column, rounded a few times.
  void bound_part(GradientPart& part, const Magnitudes& magnitudes, double scale, double factor) {
    const Dimensions& d = problem_.dimensions;
    part.column = magnitudes.column;
    const double rows = static_cast<double>(result_.rows.size());
    const double keys = static_cast<double>(d.keys);
    const double terms = rows + keys + 64;
    const double by = scale * std::abs(factor) * (1 + terms * 0x1p-51 + 0x1p-40);
    // Weights below the normal range, and their products with differences.
    double largest = 0;
    for (const double norm : result_.facts.grad_norm) largest = std::max(largest, norm);
    const double lost = terms * 0x1p-1017 *
                        (1 + largest * result_.facts.value_norm + result_.facts.largest_grad_lse);
    for (std::size_t r = 0; r < part.spread.size(); ++r) {
      part.spread[r] = (part.spread[r] + lost) * by;
      const bool usable = std::isfinite(part.spread[r]);
      if (!usable) part.open[r] = 1;
    }
    double column = 0;
    for (const double c : part.column) column = std::max(column, c);
    part.relative = constants_.scale_error + 8 * unit_roundoff64;
    part.tiny = (terms + static_cast<double>(d.key_size + d.value_size)) * 0x1p-1050 * (1 + scale) *
                (1 + column) * (1 + std::abs(factor));
    // Gradients of what nobody sees are exactly zero.
    if (&part == &result_.query) return;
    for (std::size_t j = 0; j < part.spread.size(); ++j) {
      const auto key = static_cast<std::int64_t>(j);
      const bool seen = key >= result_.facts.seen.begin && key < result_.facts.seen.end;
      if (!seen) part.spread[j] = 0;
    }
  }

  const GradientProblem& gradient_;
  const AttentionProblem& problem_;
  const GradientFilterOptions& options_;
  ScoreConstants constants_;
  FilterOptions filter_;
  HistoryGradients result_;
  std::optional<GradientRoundings> roundings_;  // with a model
  std::vector<GradientVarianceFactors> variances_;
  std::vector<double> delta_variances_;
  std::optional<GradientSureVariances> sure_;
  GradientUnits units_;
  std::vector<TilePlan> plans_;
};

}  // namespace

HistoryGradients gradient_reference(const GradientProblem& gradient, std::int64_t batch,
                                    std::int64_t kv_head, const GradientFilterOptions& options) {
  return HistoryRun(gradient, batch, kv_head, options).run();
}

}  // namespace gqa
