#include "gqa/audit/gradient_enclosure.hpp"

#include <tbb/parallel_for.h>

#include <cmath>

namespace gqa {

// One row's forward pass.
struct GradientEnclosure::Row {
  std::vector<std::size_t> visible;
  EnclosureReader::Row result;
  Ball lse;
  Ball delta;
};

// Sums of derivatives (or weights) times operands, and of w and w |a| with their coefficients.
struct GradientEnclosure::Sums {
  std::vector<Ball> columns;
  Ball moved;
  bool is_bounded = true;

  explicit Sums(std::int64_t width) : columns(static_cast<std::size_t>(width)) {}
  void add(const Ball& factor, std::span<const Ball> row) {
    for (std::size_t c = 0; c < columns.size(); ++c) columns[c] += factor * row[c];
  }
};

namespace {

Tensor<Ball> read_rows(const StridedTensor& tensor, const GradientFacts& facts,
                       std::int64_t queries) {
  const std::int64_t width = tensor.shape()[3];
  Tensor<Ball> balls({1, 1, facts.rows(), width});
  std::vector<double> buffer(static_cast<std::size_t>(width));
  for (std::int64_t r = 0; r < facts.rows(); ++r) {
    const std::int64_t head = facts.heads[static_cast<std::size_t>(r / queries)];
    tensor.read_rows(facts.batch, head, r % queries, r % queries + 1, buffer.data(), buffer.size());
    const auto row = balls.matrix(0, 0).row(static_cast<std::size_t>(r));
    for (std::size_t c = 0; c < buffer.size(); ++c) row[c] = Ball(buffer[c]);
  }
  return balls;
}

}  // namespace

GradientEnclosure::GradientEnclosure(const GradientProblem& gradient, const GradientFacts& facts,
                                     const PrecisionModel* model, const GradientFormats& formats)
    : gradient_(gradient),
      facts_(facts),
      model_(model),
      formats_(formats),
      reader_(gradient.problem, facts.batch, facts.kv_head),
      query_(read_rows(gradient.problem.query, facts, gradient.queries())),
      grad_(read_rows(gradient.grad_output, facts, gradient.queries())),
      exact_(static_cast<std::size_t>(facts.rows())) {}

// nullopt: something is not finite. Without a visible key: no gradient.
std::optional<GradientEnclosure::Row> GradientEnclosure::full_row(std::size_t r) const {
  Row row;
  row.visible = reader_.visible(head_of(r), query_of(r));
  if (row.visible.empty()) return row;
  if (facts_.grad_finite[r] == 0 || !reader_.is_finite(head_of(r), query_of(r), row.visible)) {
    return std::nullopt;
  }
  row.result = reader_.row(head_of(r), query_of(r), row.visible);
  for (std::size_t c = 0; c < row.result.output.size(); ++c) {
    row.delta += grad(r)[c] * row.result.output[c];
  }
  std::size_t heaviest = row.visible.front();
  for (const std::size_t j : row.visible) {
    if (midpoint_less(row.result.weights[heaviest], row.result.weights[j])) heaviest = j;
  }
  row.lse = row.result.scores[heaviest] - log(row.result.weights[heaviest]);
  return row;
}

GradientEnclosure::RowSums GradientEnclosure::sums_of(std::size_t r) const {
  RowSums sums;
  const auto row = full_row(r);
  if (!row) return sums;
  sums.finite = true;
  sums.empty = row->visible.empty();
  if (sums.empty) return sums;
  sums.lse = row->lse;
  sums.delta = row->delta;
  if (model_ == nullptr) return sums;
  const std::int64_t terms = static_cast<std::int64_t>(row->visible.size()) +
                             (gradient_.problem.sink_of(head_of(r)) ? 1 : 0);
  sums.worst = gradient_row_worst(*model_, gradient_,
                                  gradient_row_size<Ball>(gradient_, facts_, r, terms, row->lse,
                                                          gradient_.problem.scale_ball()));
  return sums;
}

// Made outside the lock: two threads may make the same one, which is harmless.
std::shared_ptr<const GradientEnclosure::RowSums> GradientEnclosure::row_sums(std::size_t r) const {
  const auto slot = [&]() -> std::shared_ptr<const RowSums>& {
    auto& rows = sums_[precision_bits()];
    rows.resize(static_cast<std::size_t>(facts_.rows()));
    return rows[r];
  };
  {
    const std::lock_guard lock(mutex_);
    if (slot()) return slot();
  }
  auto made = std::make_shared<const RowSums>(sums_of(r));
  const std::lock_guard lock(mutex_);
  return slot() = std::move(made);
}

void GradientEnclosure::prepare() const {
  const long bits = precision_bits();
  tbb::parallel_for(std::size_t{0}, static_cast<std::size_t>(facts_.rows()), [&](std::size_t r) {
    const PrecisionScope precision(bits);
    if (counts(r)) row_sums(r);
  });
}

Ball GradientEnclosure::capped_score(std::size_t r, std::size_t j) const {
  const std::span<const Ball> key = reader_.key_balls(j);
  const Ball raw = dot(query(r).data(), key.data(), key.size()) * gradient_.problem.scale_ball();
  return BallNumbers::softcapped(raw, Ball(gradient_.problem.contract.softcap));
}

Ball GradientEnclosure::score(std::size_t r, std::size_t j) const {
  Ball result = capped_score(r, j);
  if (gradient_.problem.has_bias()) result += Ball(*reader_.exact_bias(head_of(r), query_of(r), j));
  return result;
}

Ball GradientEnclosure::slope(std::size_t r, std::size_t j) const {
  if (gradient_.problem.contract.softcap == 0) return Ball(1);
  const Ball ratio = capped_score(r, j) / Ball(gradient_.problem.contract.softcap);
  return Ball(1) - ratio * ratio;
}

Ball GradientEnclosure::difference(std::size_t r, std::size_t j, const Ball& delta) const {
  const std::span<const Ball> value = reader_.value_balls(j);
  return dot(grad(r).data(), value.data(), value.size()) - delta;
}

std::optional<std::vector<Enclosed>> GradientEnclosure::query_row(std::size_t r) const {
  const auto row = full_row(r);
  if (!row) return std::nullopt;
  Sums sums(gradient_.problem.dimensions.key_size);
  GradientRowWorst<Ball> worst;
  if (model_ != nullptr && !row->visible.empty()) worst = row_sums(r)->worst;
  sums.is_bounded = row->visible.empty() || worst.is_bounded;
  for (const std::size_t j : row->visible) {
    const Ball& weight = row->result.weights[j];
    const Ball product = weight * difference(r, j, row->delta);
    sums.add(product * slope(r, j), reader_.key_balls(j));
    sums.moved += Ball(facts_.key.share[j]) *
                  (worst.query_weight * weight + worst.query_product * abs(product));
  }
  return finish(GradientKind::query, sums);
}

std::optional<GradientEnclosure::KeyRow> GradientEnclosure::key_row(std::size_t j) const {
  const Dimensions& d = gradient_.problem.dimensions;
  Sums key(d.key_size);
  Sums value(d.value_size);
  for (std::size_t r = 0; r < static_cast<std::size_t>(facts_.rows()); ++r) {
    if (!reads(r, j)) continue;
    const auto row = row_sums(r);
    if (!row->finite) return std::nullopt;
    const Ball weight = exp(score(r, j) - row->lse);
    const Ball product = weight * difference(r, j, row->delta);
    key.add(product * slope(r, j), query(r));
    value.add(weight, grad(r));
    key.is_bounded = key.is_bounded && row->worst.is_bounded;
    key.moved += Ball(facts_.query.share[r]) *
                 (row->worst.key_weight * weight + row->worst.key_product * abs(product));
    value.moved += Ball(facts_.grad.share[r]) * (row->worst.value_weight * weight);
  }
  value.is_bounded = key.is_bounded;
  return KeyRow{finish(GradientKind::key, key), finish(GradientKind::value, value)};
}

// The scale, the rule's factor, and what the model makes of it.
std::vector<Enclosed> GradientEnclosure::finish(GradientKind kind, const Sums& sums) const {
  const bool is_value = kind == GradientKind::value;
  const bool is_query = kind == GradientKind::query;
  const Ball scale =
      is_value || gradient_.rule.scale_missing ? Ball(1) : gradient_.problem.scale_ball();
  const Ball factor(gradient_.factor(static_cast<std::int64_t>(facts_.heads.size())));
  const FloatFormat* format =
      is_value ? formats_.value : (is_query ? formats_.query : formats_.key);
  const Magnitudes& magnitudes = is_value ? facts_.grad : (is_query ? facts_.key : facts_.query);
  GradientTiny tiny;
  if (model_ != nullptr) tiny = gradient_tiny(*model_, gradient_, facts_, kind);
  std::vector<Enclosed> result(sums.columns.size());
  for (std::size_t c = 0; c < result.size(); ++c) {
    result[c].reference = sums.columns[c] * scale * factor;
    if (model_ == nullptr || !sums.is_bounded || format == nullptr) continue;
    const Ball moved =
        Ball(magnitudes.column[c]) * scale * abs(factor) * (sums.moved + Ball(tiny.of_column)) +
        Ball(tiny.absolute) * abs(factor);
    const FormatRounding rounding = model_->output_rounding(*format);
    const Ball worst = recorded_worst(moved, Ball(abs(result[c].reference)), rounding.roundoff,
                                      rounding.underflow);
    result[c].bounds = RoundingBounds{worst, worst};
  }
  return result;
}

}  // namespace gqa
