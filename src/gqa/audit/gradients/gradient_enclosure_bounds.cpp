// What a precision model makes of the rows that GradientEnclosure sums.
#include "gqa/audit/gradients/gradient_enclosure.detail.hpp"
#include "gqa/audit/gradients/gradient_enclosure.hpp"

namespace gqa {

// What the row's weights share.
void GradientEnclosure::bound_row(std::size_t r, const Row& row, RowSums& sums) const {
  const GradientRoundings& roundings = model_->roundings;
  const auto sink = gradient_.problem.sink_of(head_of(r));
  const std::int64_t terms = static_cast<std::int64_t>(row.visible.size()) + (sink ? 1 : 0);
  const Ball scale = gradient_.problem.scale_ball();
  GradientRowGiven<Ball> given;
  given.lse = row.lse;
  given.delta = row.delta;
  given.grad_lse = row.grad_lse;
  given.has_grad_lse = gradient_.grad_lse.has_value();
  given.maximum = sink ? Ball(*sink) : row.result.scores[row.visible.front()];
  for (const std::size_t j : row.visible) given.maximum = max(given.maximum, row.result.scores[j]);
  given.query4 = square(scale) * Ball(facts_.query4[r]);
  given.grad4 = facts_.grad4[r];
  given.copies = model_->copies.query[r];
  given.visible = static_cast<double>(terms);
  for (std::size_t c = 0; c < row.result.output.size(); ++c) {
    given.output.add(roundings, grad(r)[c], row.result.output[c]);
  }
  sums.likely.start(roundings, given);
  for (const std::size_t j : row.visible) {
    const GradientPair<Ball> one = pair(r, j, row.result.weights[j]);
    sums.likely.add(roundings, one, gradient_pair_errors(roundings, given, one),
                    facts_.value_norms[j]);
  }
  if (sink) sums.likely.add_sink(roundings, Ball(*sink));
  sums.likely.finish(roundings);
  sums.worst =
      gradient_row_worst(model_->precision, gradient_,
                         gradient_row_size<Ball>(gradient_, facts_, r, terms, row.lse, scale));
  sums.worst.finish(sums.likely.magnitudes, Ball(facts_.grad_norm[r]) * sums.likely.value_norms,
                    given.output.magnitudes, row.grad_lse);
}

GradientPair<Ball> GradientEnclosure::pair(std::size_t r, std::size_t j, const Ball& weight) const {
  const std::span<const Ball> value = reader_.value_balls(j);
  GradientPair<Ball> pair;
  pair.weight = weight;
  const EnclosureReader::Scores scores = reader_.scores(query(r), head_of(r), query_of(r), j);
  pair.raw = scores.scaled;
  pair.capped = scores.softcapped;
  pair.score = scores.score;
  pair.product = dot(grad(r).data(), value.data(), value.size());
  pair.key4 = facts_.key4[j];
  pair.value4 = facts_.value4[j];
  pair.copies = model_->copies.key[j];
  return pair;
}

Ball GradientEnclosure::scale_of(GradientKind kind) const {
  const bool none = kind == GradientKind::value || gradient_.rule.scale_missing;
  return none ? Ball(1) : gradient_.problem.scale_ball();
}

GradientFinish GradientEnclosure::recording(GradientKind kind) const {
  const FloatFormat* format = formats_.of(kind);
  if (format == nullptr) return {};
  return {0, static_cast<double>(facts_.heads.size()),
          model_->precision.output_rounding(*format, true).roundoff,
          model_->precision.output_rounding(*format, true).underflow};
}

void GradientEnclosure::finish_head(GradientKind kind, Sums& sums) const {
  const GradientFinish finish = recording(kind);
  sums.finish_head(scale_of(kind), finish.roundoff, finish.underflow);
}

// A sum without terms is stored, and that is all.
RoundingBounds GradientEnclosure::nothing_to_round(GradientKind kind) const {
  const Ball underflow(recording(kind).underflow);
  return {underflow, underflow};
}

RoundingBounds GradientEnclosure::bounds_of(GradientKind kind, const Sums& sums, std::size_t c,
                                            const Ball& value, const Ball& factor) const {
  const GradientRoundings& roundings = model_->roundings;
  const Ball scale = scale_of(kind);
  const GradientFactors<Ball>& factors = sums.factors[c];
  const GradientTiny tiny = gradient_tiny(model_->precision, gradient_, facts_, kind);
  GradientFinish recorded = recording(kind);
  recorded.terms = static_cast<double>(sums.terms);
  const Magnitudes* magnitudes = &facts_.key;
  Ball moved;
  Ball likely;
  if (kind == GradientKind::query) {
    likely = likely_query(roundings, sums.of_row->likely, scale, factors, value);
    moved = factors.magnitudes[2] + sums.of_row->worst.query_common() * factors.magnitudes[1];
  } else if (kind == GradientKind::key) {
    magnitudes = &facts_.query;
    likely = likely_key(roundings, recorded, scale, factors, sums.head_squares[c], value);
    moved = factors.magnitudes[1];
  } else {
    magnitudes = &facts_.grad;
    likely = likely_value(roundings, recorded, factors, sums.head_squares[c], value);
    moved = factors.magnitudes[1];
  }
  const Ball magnitude = factor * abs(value);
  moved = factor *
          (scale * (moved + Ball(tiny.of_column * magnitudes->column[c])) + Ball(tiny.absolute));
  likely = recorded_likely(Ball(factor * likely), magnitude, recorded);
  if (!sums.is_bounded) return {likely, Ball(1) / Ball(0)};
  const Ball worst = recorded_worst(moved, magnitude, recorded.roundoff, recorded.underflow);
  return {min(likely, worst), worst};
}

}  // namespace gqa
