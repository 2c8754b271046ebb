#include "gqa/audit/outputs/score_auditor.hpp"

#include <algorithm>
#include <limits>

#include "gqa/audit/enclose/algebraic_score.hpp"
#include "gqa/audit/models/ball_norms.hpp"

namespace gqa {

// One element of modes 0 to 2, with the row's query read once.
struct ScoreAuditor::ScorePlace {
  std::int64_t head;
  std::int64_t row;
  std::size_t key;
  std::span<const Ball> query;
};

AuditedElement ScoreAuditor::element(std::int64_t head, std::int64_t row,
                                     std::int64_t column) const {
  AuditedElement element;
  element.index = {batch_, head, row, column};
  element.output = output_.value(batch_, head, row, column);
  element.format = &output_.format();
  return element;
}

void ScoreAuditor::add(AuditTally& tally, const AuditedElement& element, NullRow& nulls) const {
  if (options_.observe) options_.observe(element);
  add_element(tally, element, batch_ * problem_.dimensions.q_heads + element.index[1], nulls);
}

void ScoreAuditor::demand_row(std::int64_t head, std::int64_t row, double demanded,
                              AuditTally& tally) const {
  NullRow nulls;
  for (std::int64_t column = 0; column < output_.shape()[3]; ++column) {
    AuditedElement found = element(head, row, column);
    demand(found, demanded);
    add(tally, found, nulls);
  }
}

// The contract gives no number: nothing is right, and nothing is proved wrong.
void ScoreAuditor::leave_open(std::int64_t head, std::int64_t row, AuditTally& tally) const {
  NullRow nulls;
  for (std::int64_t column = 0; column < output_.shape()[3]; ++column) {
    ++tally.not_finite_references;
    add(tally, element(head, row, column), nulls);
  }
}

void ScoreAuditor::audit_scores(std::int64_t head, std::int64_t row, ScoreStage stage,
                                AuditTally& tally) const {
  const PrecisionScope precision(options_.first_precision);
  const std::vector<Ball> query = reader_.query_balls(head, row);
  const bool query_finite = std::ranges::all_of(query, [](const Ball& q) { return q.is_finite(); });
  NullRow nulls;
  for (std::int64_t key = 0; key < problem_.dimensions.keys; ++key) {
    const ScorePlace place{head, row, static_cast<std::size_t>(key), query};
    const bool visible = problem_.visibility.visible(batch_, head, row, key);
    const bool finite = query_finite && reader_.key_is_finite(place.key);
    AuditedElement found;
    if (stage == ScoreStage::biased && !visible) {
      found = element(head, row, key);
      demand(found, -std::numeric_limits<double>::infinity());
    } else if (!finite && !visible) {
      found = element(head, row, key);
      accept_anything(found);
    } else if (!finite ||
               (stage == ScoreStage::biased && !reader_.exact_bias(head, row, place.key))) {
      found = element(head, row, key);
      ++tally.not_finite_references;
    } else {
      found = score_element(place, stage);
    }
    add(tally, found, nulls);
  }
  nulls.add_to(tally.nulls);
}

AuditedElement ScoreAuditor::score_element(const ScorePlace& place, ScoreStage stage) const {
  AuditedElement found = element(place.head, place.row, static_cast<std::int64_t>(place.key));
  settle(found, enclose_score(place, stage),
         {[&] { return enclose_score(place, stage); },
          [&] { return rational_score(place.head, place.row, place.key, stage); }},
         options_);
  return found;
}

Enclosed ScoreAuditor::enclose_score(const ScorePlace& place, ScoreStage stage) const {
  const std::span<const Ball> key = reader_.key_balls(place.key);
  const EnclosureReader::Scores scores =
      reader_.scores(place.query, place.head, place.row, place.key, stage);
  const bool capped = stage != ScoreStage::scaled && problem_.contract.softcap != 0;
  const bool biased = stage == ScoreStage::biased && problem_.has_bias();
  Enclosed result;
  result.reference = scores.score;
  if (model() == nullptr) return result;
  ScoreRounding rounding;
  rounding.query_norm4_squared = norm4_squared(place.query);
  rounding.key_norm4_squared = norm4_squared(key);
  ScoreMagnitudes& magnitudes = rounding.magnitudes;
  magnitudes.key_size = problem_.dimensions.key_size;
  magnitudes.plain = !capped && !biased;
  magnitudes.scale = problem_.scale_ball();
  magnitudes.query_norm2 = norm2(place.query);
  magnitudes.key_norm2 = norm2(key);
  magnitudes.raw = abs(scores.scaled);
  magnitudes.score = abs(result.reference);
  if (capped) magnitudes.softcap = Ball(problem_.contract.softcap);
  if (biased && problem_.has_two_biases()) {
    magnitudes.bias = reader_.bias_magnitude(place.head, place.row, place.key);
  }
  result.bounds = score_bounds(*model(), rounding, options_.recorded);
  return result;
}

// A softcapped score c tanh(s / c) of an algebraic s other than 0 is transcendental
// (Lindemann), so that it meets no rational number and more bits decide.
std::optional<Rational> ScoreAuditor::rational_score(std::int64_t head, std::int64_t row,
                                                     std::size_t key, ScoreStage stage) const {
  const Rational product =
      exact_product(problem_, batch_, head, kv_head_, row, static_cast<std::int64_t>(key));
  const bool capped = stage != ScoreStage::scaled && problem_.contract.softcap != 0;
  if (capped && product != 0) return std::nullopt;
  Rational bias;
  if (stage == ScoreStage::biased) bias = *reader_.exact_bias(head, row, key);
  const AlgebraicScore score =
      scaled_score(problem_.contract, problem_.dimensions.key_size, product, bias);
  if (score.irrational_part != 0) return std::nullopt;
  return score.rational_part;
}

}  // namespace gqa
