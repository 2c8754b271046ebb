// Rung 3 of audited gradients: where an element is rational, exactly.
//
// A row adds a rational number where
//   - all its scores are equal (as algebraic numbers, algebraic_score.hpp), so that its weights are
//     1 / members, a sink of that score being one more member. With a softcap, equal products give
//     equal scores; its slope is 1 at a product of zero and otherwise transcendental;
//   - or what its irrational weights are multiplied with is zero: a zero of grad_output or query,
//   or
//     differences g.v_j - delta that all vanish (all g.v_j equal and no sink, or all zero), without
//     a gradient of lse;
//   - for grad_query also if a column of the visible keys is constant, without sink and softcap:
//     the derivatives of a row sum to grad_lse, its weights to one.
// Other elements give no answer; more bits decide them unless they are ties that nobody plans.
#include "gqa/audit/enclose/algebraic_score.hpp"
#include "gqa/audit/gradients/gradient_enclosure.hpp"

namespace gqa {
namespace {

Rational value_of(const StridedTensor& tensor, const GradientFacts& facts, std::int64_t head,
                  std::int64_t row, std::size_t column) {
  return Rational(tensor.value(facts.batch, head, row, static_cast<std::int64_t>(column)));
}

Rational fraction(const Rational& numerator, std::int64_t denominator) {
  return Rational(numerator / Rational(static_cast<long>(denominator)));
}

}  // namespace

Rational GradientEnclosure::exact_product_with_value(std::size_t r, std::size_t j) const {
  Rational sum;
  for (std::int64_t c = 0; c < gradient_.problem.dimensions.value_size; ++c) {
    sum += value_of(gradient_.grad_output, facts_, head_of(r), query_of(r),
                    static_cast<std::size_t>(c)) *
           Rational(gradient_.problem.value.value(facts_.batch, facts_.kv_head,
                                                  static_cast<std::int64_t>(j), c));
  }
  return sum;
}

GradientEnclosure::RowExact GradientEnclosure::exact_row(std::size_t r) const {
  const AttentionProblem& problem = gradient_.problem;
  const bool capped = problem.contract.softcap != 0;
  const auto sink = problem.sink_of(head_of(r));
  const std::vector<std::size_t> visible = reader_.visible(head_of(r), query_of(r));
  RowExact row;
  if (visible.empty()) return row;
  // Product and bias apart where a softcap lies between them.
  const auto score_of = [&](std::size_t j) {
    const Rational product = exact_product(problem, facts_.batch, head_of(r), facts_.kv_head,
                                           query_of(r), static_cast<std::int64_t>(j));
    const Rational bias = *reader_.exact_bias(head_of(r), query_of(r), j);
    const std::int64_t dk = problem.dimensions.key_size;
    return std::pair(scaled_score(problem.contract, dk, product, capped ? Rational(0) : bias),
                     capped ? bias : Rational(0));
  };
  const auto first = score_of(visible.front());
  const AlgebraicScore zero{0, 0};
  row.slope_is_one = !capped || first.first == zero;
  row.equal_scores = true;
  if (sink) {
    const Rational logit(*sink);
    row.equal_scores = capped ? row.slope_is_one && first.second == logit
                              : first.first == AlgebraicScore{0, logit};
  }
  for (const std::size_t j : visible) {
    if (!row.equal_scores) break;
    row.equal_scores = score_of(j) == first;
  }
  row.members = static_cast<std::int64_t>(visible.size()) + (sink ? 1 : 0);
  const Rational along = exact_product_with_value(r, visible.front());
  const Rational grad_lse(facts_.grad_lse[r]);
  row.no_difference = (!sink || along == 0) && grad_lse == 0;
  for (const std::size_t j : visible) {
    if (!row.no_difference) break;
    row.no_difference = exact_product_with_value(r, j) == along;
  }
  if (!row.equal_scores) return row;
  for (const std::size_t j : visible) row.delta += exact_product_with_value(r, j);
  row.delta = fraction(row.delta, row.members) - grad_lse;
  return row;
}

std::shared_ptr<const GradientEnclosure::RowExact> GradientEnclosure::row_exact(
    std::size_t r) const {
  {
    const std::lock_guard lock(mutex_);
    if (exact_[r]) return exact_[r];
  }
  auto made = std::make_shared<const RowExact>(exact_row(r));
  const std::lock_guard lock(mutex_);
  return exact_[r] = std::move(made);
}

// w_j (g.v_j - delta) slope_j.
std::optional<Rational> GradientEnclosure::exact_derivative(const RowExact& row, std::size_t r,
                                                            std::size_t j) const {
  if (row.no_difference) return Rational(0);
  if (!row.equal_scores) return std::nullopt;
  const Rational difference = exact_product_with_value(r, j) - row.delta;
  if (difference == 0) return Rational(0);
  if (!row.slope_is_one) return std::nullopt;
  return fraction(difference, row.members);
}

std::optional<Rational> GradientEnclosure::exact_query(std::size_t r, std::size_t column) const {
  const std::vector<std::size_t> visible = reader_.visible(head_of(r), query_of(r));
  const AttentionProblem& problem = gradient_.problem;
  const auto key = [&](std::size_t j) {
    return Rational(problem.key.value(facts_.batch, facts_.kv_head, static_cast<std::int64_t>(j),
                                      static_cast<std::int64_t>(column)));
  };
  bool constant = true;
  bool zero = true;
  for (const std::size_t j : visible) {
    const Rational found = key(j);
    constant = constant && found == key(visible.front());
    zero = zero && found == 0;
  }
  const bool weights_sum_to_one = !problem.sink_of(head_of(r)) && problem.contract.softcap == 0;
  if (visible.empty() || zero) return Rational(0);
  if (constant && weights_sum_to_one) {
    return Rational(Rational(facts_.grad_lse[r]) * key(visible.front()));
  }
  const auto row = row_exact(r);
  Rational sum;
  for (const std::size_t j : visible) {
    const auto derivative = exact_derivative(*row, r, j);
    if (!derivative) return std::nullopt;
    sum += *derivative * key(j);
  }
  return sum;
}

std::optional<Rational> GradientEnclosure::exact_key(std::size_t j, std::size_t column) const {
  Rational sum;
  for (std::size_t r = 0; r < static_cast<std::size_t>(facts_.rows()); ++r) {
    if (!reads(r, j)) continue;
    const Rational query =
        value_of(gradient_.problem.query, facts_, head_of(r), query_of(r), column);
    if (query == 0) continue;
    const auto derivative = exact_derivative(*row_exact(r), r, j);
    if (!derivative) return std::nullopt;
    sum += *derivative * query;
  }
  return sum;
}

std::optional<Rational> GradientEnclosure::exact_value(std::size_t j, std::size_t column) const {
  Rational sum;
  for (std::size_t r = 0; r < static_cast<std::size_t>(facts_.rows()); ++r) {
    if (!reads(r, j)) continue;
    const Rational grad = value_of(gradient_.grad_output, facts_, head_of(r), query_of(r), column);
    if (grad == 0) continue;
    const auto row = row_exact(r);
    if (!row->equal_scores) return std::nullopt;
    sum += fraction(grad, row->members);
  }
  return sum;
}

std::optional<Rational> GradientEnclosure::scaled(const Rational& sum) const {
  if (sum == 0 || gradient_.rule.scale_missing) return sum;
  const AlgebraicScore product = scaled_score(
      gradient_.problem.contract, gradient_.problem.dimensions.key_size, sum, Rational(0));
  if (product.irrational_part != 0) return std::nullopt;
  return product.rational_part;
}

std::optional<Rational> GradientEnclosure::exact(GradientKind kind, std::size_t row,
                                                 std::size_t column) const {
  std::optional<Rational> sum;
  if (kind == GradientKind::value) {
    sum = exact_value(row, column);
  } else {
    sum = kind == GradientKind::query ? exact_query(row, column) : exact_key(row, column);
    if (sum) sum = scaled(*sum);
  }
  if (!sum) return std::nullopt;
  return Rational(*sum * gradient_.factor(static_cast<std::int64_t>(facts_.heads.size())));
}

}  // namespace gqa
