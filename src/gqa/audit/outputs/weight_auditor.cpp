// ScoreAuditor's other half: the weights and the logarithm of their denominator.
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "gqa/audit/enclose/algebraic_score.hpp"
#include "gqa/audit/enclose/mean_row.hpp"
#include "gqa/audit/outputs/score_auditor.hpp"

namespace gqa {

// One row at one precision; a model's bounds are made once for all its weights.
struct ScoreAuditor::WeightRow {
  EnclosureReader::Row result;
  std::unique_ptr<WeightBound> bound;
};

void ScoreAuditor::audit_weights(std::int64_t head, std::int64_t row, AuditTally& tally) const {
  const std::vector<std::size_t> visible = reader_.visible(head, row);
  if (visible.empty()) return audit_empty_weights(head, row, tally);
  if (!reader_.is_finite(head, row, visible)) return leave_open(head, row, tally);
  const PrecisionScope precision(options_.first_precision);
  const WeightRow first = weight_row(head, row, visible);
  NullRow nulls;
  std::size_t k = 0;
  for (std::int64_t key = 0; key < problem_.dimensions.keys; ++key) {
    AuditedElement found = element(head, row, key);
    if (k == visible.size() || visible[k] != static_cast<std::size_t>(key)) {
      settle_exactly(found, Rational(0), options_);
    } else {
      Enclosed enclosed{first.result.weights[visible[k]], std::nullopt};
      if (first.bound) enclosed.bounds = first.bound->weight(k);
      settle(found, enclosed,
             {[&] { return enclose_weight(head, row, visible, k); },
              [&]() -> std::optional<Rational> {
                const auto members = equal_scores(head, row, visible);
                if (!members) return std::nullopt;
                return make_rational(1, static_cast<long>(*members));
              }},
             options_);
      ++k;
    }
    add(tally, found, nulls);
  }
  nulls.add_to(tally.nulls);
}

void ScoreAuditor::audit_empty_weights(std::int64_t head, std::int64_t row,
                                       AuditTally& tally) const {
  const EmptyRow policy = problem_.empty_row_of(head);
  if (policy == EmptyRow::zero) return demand_row(head, row, 0, tally);
  if (policy == EmptyRow::nan) {
    return demand_row(head, row, std::numeric_limits<double>::quiet_NaN(), tally);
  }
  const std::int64_t keys = problem_.dimensions.keys;
  RoundingBounds bounds;
  if (model() != nullptr)
    bounds = WeightBound(*model(), equal_score_rounding(keys), options_.recorded).weight(0);
  NullRow nulls;
  for (std::int64_t key = 0; key < keys; ++key) {
    AuditedElement found = element(head, row, key);
    if (policy == EmptyRow::mean) {
      settle_exactly(found, make_rational(1, static_cast<long>(keys)), options_, bounds);
    } else {
      accept_anything(found);
    }
    add(tally, found, nulls);
  }
  nulls.add_to(tally.nulls);
}

ScoreAuditor::WeightRow ScoreAuditor::weight_row(std::int64_t head, std::int64_t row,
                                                 const std::vector<std::size_t>& visible) const {
  WeightRow result;
  result.result = reader_.row(head, row, visible);
  if (model() != nullptr) {
    result.bound = std::make_unique<WeightBound>(
        *model(), reader_.rounding(*model(), head, row, visible, result.result), options_.recorded);
  }
  return result;
}

Enclosed ScoreAuditor::enclose_weight(std::int64_t head, std::int64_t row,
                                      const std::vector<std::size_t>& visible,
                                      std::size_t k) const {
  const WeightRow at = weight_row(head, row, visible);
  Enclosed result{at.result.weights[visible[k]], std::nullopt};
  if (at.bound) result.bounds = at.bound->weight(k);
  return result;
}

// A weight is rational exactly if all scores of the row, the sink's included, are equal:
// w_j = c means exp(s_j) (1 - c) = c sum of the others', and exponentials of distinct
// algebraic numbers are independent (docs/theory.md, "Rung 3: ties"). Then it is 1 / their number,
// given here. Behind a softcap equal operands still give equal scores; others are left open.
std::optional<std::int64_t> ScoreAuditor::equal_scores(
    std::int64_t head, std::int64_t row, const std::vector<std::size_t>& visible) const {
  const bool capped = problem_.contract.softcap != 0;
  std::optional<AlgebraicScore> common;
  std::optional<Rational> common_bias;
  for (const std::size_t key : visible) {
    const Rational product =
        exact_product(problem_, batch_, head, kv_head_, row, static_cast<std::int64_t>(key));
    const Rational bias = *reader_.exact_bias(head, row, key);
    AlgebraicScore score = scaled_score(problem_.contract, problem_.dimensions.key_size, product,
                                        capped ? Rational(0) : bias);
    if (common && (score != *common || (capped && bias != *common_bias))) return std::nullopt;
    common = std::move(score);
    common_bias = bias;
  }
  const auto members = static_cast<std::int64_t>(visible.size());
  const auto logit = problem_.sink_of(head);
  if (!logit) return members;
  const Rational sink(*logit);
  if (capped && *common != AlgebraicScore{}) return std::nullopt;
  const bool equal = capped ? *common_bias == sink : *common == AlgebraicScore{0, sink};
  return equal ? std::optional(members + 1) : std::nullopt;
}

// From a natural logarithm to the declared base. Both bounds are of a natural one that is stored in
// the recorded format, so that their terms of storing grow with the number as the number does; the
// change of base, or base 2 throughout, rounds the exponents' constant and the product once each.
Enclosed in_declared_base(const LseForm& form, const PrecisionModel* model, Enclosed natural) {
  if (form.base == LseBase::e) return natural;
  const Ball factor = Ball(1) / log(Ball(2));
  if (natural.bounds && model != nullptr) {
    const Ball rounding = Ball(4 * model->exponential) * abs(natural.reference);
    natural.bounds->likely = factor * (natural.bounds->likely + rounding);
    natural.bounds->worst = factor * (natural.bounds->worst + rounding);
  }
  natural.reference = factor * natural.reference;
  return natural;
}

// No visible key: a declared sink is all there is in the denominator, ln exp(sink).
void ScoreAuditor::audit_empty_lse(std::int64_t head, std::int64_t row, AuditTally& tally) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const LseForm& form = problem_.contract.lse;
  const double nothing = form.empty == LseEmpty::plus_infinity ? infinity : -infinity;
  const double sink = problem_.sink_of(head).value_or(nothing);
  if (!std::isfinite(sink)) return demand_row(head, row, sink, tally);
  RoundingBounds bounds;
  if (model() != nullptr) {
    // As the maximum it may pass through base 2, is added to ln 1, and is rounded.
    bounds.likely = Ball(3 * model()->exponential + options_.recorded.roundoff) * abs(Ball(sink));
    bounds.worst = Ball(2) * bounds.likely;
  }
  AuditedElement found = element(head, row, 0);
  // sink / ln 2 is irrational unless the sink is zero.
  if (form.base == LseBase::e || sink == 0) {
    settle_exactly(found, Rational(sink), options_, bounds);
  } else {
    const auto enclose = [&] {
      Enclosed natural{Ball(sink), std::nullopt};
      if (model() != nullptr) natural.bounds = bounds;
      return in_declared_base(form, model(), natural);
    };
    settle(found, enclose(), {enclose, [] { return std::optional<Rational>(); }}, options_);
  }
  NullRow nulls;
  add(tally, found, nulls);
  nulls.add_to(tally.nulls);
}

Enclosed ScoreAuditor::enclose_lse(std::int64_t head, std::int64_t row,
                                   const std::vector<std::size_t>& visible) const {
  const WeightRow at = weight_row(head, row, visible);
  std::optional<Ball> sink;
  if (const auto logit = problem_.sink_of(head)) sink = Ball(*logit);
  const Ball largest = BallNumbers::shift(at.result.scores, visible, sink ? &*sink : nullptr);
  Ball denominator;
  for (const std::size_t key : visible) denominator += exp(at.result.scores[key] - largest);
  if (sink) denominator += exp(*sink - largest);
  Enclosed result{largest + log(denominator), std::nullopt};
  if (at.bound) result.bounds = at.bound->lse(result.reference);
  return in_declared_base(problem_.contract.lse, model(), std::move(result));
}

// sum of n exponentials = exp(c) with a rational c: by the same theorem only for n = 1, where
// lse is the score itself. In base 2: sum = 2^c makes 2^c algebraic, so that every score is zero
// (the same theorem), and c = log2 n rational for a power of two.
std::optional<Rational> ScoreAuditor::rational_lse(std::int64_t head, std::int64_t row,
                                                   const std::vector<std::size_t>& visible) const {
  if (problem_.contract.lse.base == LseBase::two) return rational_binary_lse(head, row, visible);
  if (visible.size() != 1 || problem_.sink_of(head)) return std::nullopt;
  return rational_score(head, row, visible.front(), ScoreStage::biased);
}

std::optional<Rational> ScoreAuditor::rational_binary_lse(
    std::int64_t head, std::int64_t row, const std::vector<std::size_t>& visible) const {
  const auto members = equal_scores(head, row, visible);
  if (!members || !std::has_single_bit(static_cast<std::uint64_t>(*members))) return std::nullopt;
  if (rational_score(head, row, visible.front(), ScoreStage::biased) != Rational(0)) {
    return std::nullopt;
  }
  return Rational(std::countr_zero(static_cast<std::uint64_t>(*members)));
}

void ScoreAuditor::audit_lse(std::int64_t head, std::int64_t row, AuditTally& tally) const {
  const std::vector<std::size_t> visible = reader_.visible(head, row);
  if (visible.empty()) return audit_empty_lse(head, row, tally);
  if (!reader_.is_finite(head, row, visible)) return leave_open(head, row, tally);
  const PrecisionScope precision(options_.first_precision);
  AuditedElement found = element(head, row, 0);
  settle(found, enclose_lse(head, row, visible),
         {[&] { return enclose_lse(head, row, visible); },
          [&] { return rational_lse(head, row, visible); }},
         options_);
  NullRow nulls;
  add(tally, found, nulls);
  nulls.add_to(tally.nulls);
}

}  // namespace gqa
