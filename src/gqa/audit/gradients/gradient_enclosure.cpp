#include "gqa/audit/gradients/gradient_enclosure.hpp"

#include <tbb/parallel_for.h>

#include <cmath>

#include "gqa/audit/gradients/gradient_enclosure.detail.hpp"

namespace gqa {

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
      model_(model == nullptr
                 ? nullptr
                 : std::make_shared<const Model>(Model{*model, gradient_roundings(*model, gradient),
                                                       gradient_copies(gradient, facts)})),
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
  row.grad_lse = Ball(facts_.grad_lse[r]);
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
  sums.delta = row->subtracted();
  if (model_ != nullptr) bound_row(r, *row, sums);
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

Ball GradientEnclosure::score(std::size_t r, std::size_t j) const {
  return reader_.scores(query(r), head_of(r), query_of(r), j).score;
}

Ball GradientEnclosure::slope(std::size_t r, std::size_t j) const {
  if (gradient_.problem.contract.softcap == 0) return Ball(1);
  const Ball capped =
      reader_.scores(query(r), head_of(r), query_of(r), j, ScoreStage::softcapped).softcapped;
  return softcap_slope<BallNumbers>(capped, Ball(gradient_.problem.contract.softcap));
}

Ball GradientEnclosure::difference(std::size_t r, std::size_t j, const Ball& delta) const {
  const std::span<const Ball> value = reader_.value_balls(j);
  return dot(grad(r).data(), value.data(), value.size()) - delta;
}

std::optional<std::vector<Enclosed>> GradientEnclosure::query_row(std::size_t r) const {
  const auto row = full_row(r);
  if (!row) return std::nullopt;
  Sums sums(gradient_.problem.dimensions.key_size);
  const bool bounded = model_ != nullptr && !row->visible.empty();
  if (bounded) {
    sums.of_row = *row_sums(r);
    sums.start(gradient_factor_counts(model_->roundings, GradientKind::query));
    sums.is_bounded = sums.of_row->worst.is_bounded;
  }
  const Ball subtracted = row->subtracted();
  for (const std::size_t j : row->visible) {
    const Ball& weight = row->result.weights[j];
    sums.add(weight * difference(r, j, subtracted) * slope(r, j), reader_.key_balls(j));
    if (!bounded) continue;
    const GradientPair<Ball> one = pair(r, j, weight);
    const auto errors = gradient_pair_errors(model_->roundings, sums.of_row->likely.given, one);
    sums.add(query_factors(GradientTerm<Ball>{model_->roundings, sums.of_row->likely,
                                              sums.of_row->worst, one, errors, norms(r, j)}),
             reader_.key_balls(j));
  }
  return finish(GradientKind::query, sums);
}

std::optional<GradientEnclosure::KeyRow> GradientEnclosure::key_row(std::size_t j) const {
  const Dimensions& d = gradient_.problem.dimensions;
  Sums key(d.key_size);
  Sums value(d.value_size);
  if (model_ != nullptr) {
    key.start(gradient_factor_counts(model_->roundings, GradientKind::key));
    value.start(gradient_factor_counts(model_->roundings, GradientKind::value));
  }
  for (std::size_t r = 0; r < static_cast<std::size_t>(facts_.rows()); ++r) {
    if (reads(r, j)) {
      const auto row = row_sums(r);
      if (!row->finite) return std::nullopt;
      add_key_term(r, j, *row, key, value);
    }
    const bool is_last = query_of(r) + 1 == gradient_.queries();
    if (!is_last || model_ == nullptr) continue;
    finish_head(GradientKind::key, key);
    finish_head(GradientKind::value, value);
  }
  value.is_bounded = key.is_bounded;
  return KeyRow{finish(GradientKind::key, key), finish(GradientKind::value, value)};
}

void GradientEnclosure::add_key_term(std::size_t r, std::size_t j, const RowSums& row, Sums& key,
                                     Sums& value) const {
  const Ball weight = exp(score(r, j) - row.lse);
  key.add(weight * difference(r, j, row.delta) * slope(r, j), query(r));
  value.add(weight, grad(r));
  if (model_ == nullptr) return;
  key.is_bounded = key.is_bounded && row.worst.is_bounded;
  const GradientPair<Ball> one = pair(r, j, weight);
  const auto errors = gradient_pair_errors(model_->roundings, row.likely.given, one);
  const GradientTerm<Ball> term{model_->roundings, row.likely, row.worst, one, errors, norms(r, j)};
  key.add(key_factors(term), query(r));
  value.add(value_factors(term), grad(r));
}

// The scale, the rule's factor, and what the model makes of it.
std::vector<Enclosed> GradientEnclosure::finish(GradientKind kind, const Sums& sums) const {
  const Ball scale = scale_of(kind);
  const Ball factor(gradient_.factor(static_cast<std::int64_t>(facts_.heads.size())));
  std::vector<Enclosed> result(sums.columns.size());
  for (std::size_t c = 0; c < result.size(); ++c) {
    const Ball value = sums.columns[c] * scale;
    result[c].reference = value * factor;
    if (model_ == nullptr || formats_.of(kind) == nullptr) continue;
    result[c].bounds =
        sums.terms == 0 ? nothing_to_round(kind) : bounds_of(kind, sums, c, value, abs(factor));
  }
  return result;
}

}  // namespace gqa
