// Rungs 2 and 3 of audited gradients: single rows in balls, and exactly where they are rational.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "gqa/audit/enclose/audited_element.hpp"
#include "gqa/audit/enclose/enclosure.hpp"
#include "gqa/audit/gradients/gradient_likely_sums.hpp"
#include "gqa/audit/gradients/gradient_model.hpp"

namespace gqa {

/// The formats in which the gradients are recorded; null: not recorded.
struct GradientFormats {
  const FloatFormat* query = nullptr;
  const FloatFormat* key = nullptr;
  const FloatFormat* value = nullptr;

  const FloatFormat* of(GradientKind kind) const {
    if (kind == GradientKind::query) return query;
    return kind == GradientKind::key ? key : value;
  }
};

/// Gradients of one batch entry and KV head, under the problem's rule. Everything may be asked
/// from several threads, at the thread's precision.
class GradientEnclosure {
 public:
  /// Keeps references. `model`: whose worst cases the results hold; null: none.
  GradientEnclosure(const GradientProblem& gradient, const GradientFacts& facts,
                    const PrecisionModel* model, const GradientFormats& formats);

  /// The gradient of one query row [dk]; nullopt if an operand is not finite. The worst case is not
  /// finite where the model bounds nothing.
  std::optional<std::vector<Enclosed>> query_row(std::size_t r) const;
  /// Those of one key and its value. Reads every row that sees it once.
  struct KeyRow {
    std::vector<Enclosed> key;
    std::vector<Enclosed> value;
  };
  std::optional<KeyRow> key_row(std::size_t j) const;
  /// The element if it is known to be rational (gradient_rational.cpp says when).
  /// Precondition: the row is finite.
  std::optional<Rational> exact(GradientKind kind, std::size_t row, std::size_t column) const;

  /// Sums of all rows that count, at the thread's precision, so that key_row need not make them.
  void prepare() const;

 private:
  // What every key needs to know of a row that sees it.
  struct RowSums {
    bool empty = false;
    bool finite = false;
    Ball lse;
    Ball delta;
    GradientRowWorst<Ball> worst;
    GradientLikelyRow<Ball> likely;
  };
  struct Row;
  // What a model makes of one history.
  struct Model;
  // Sums of one element row over its terms.
  struct Sums;
  // Whether a row's weights, and differences g.v - delta, are rational.
  struct RowExact {
    bool equal_scores = false;  ///< weights 1 / members
    std::int64_t members = 0;
    bool slope_is_one = false;
    Rational delta;              ///< with equal_scores
    bool no_difference = false;  ///< every g.v_j equals delta
  };

  std::int64_t head_of(std::size_t r) const {
    return facts_.heads[r / static_cast<std::size_t>(gradient_.queries())];
  }
  std::int64_t query_of(std::size_t r) const {
    return static_cast<std::int64_t>(r) % gradient_.queries();
  }
  bool counts(std::size_t r) const {
    return gradient_.counts(static_cast<std::int64_t>(r) / gradient_.queries());
  }
  /// Does row r count, and see key j?
  bool reads(std::size_t r, std::size_t j) const {
    return counts(r) && gradient_.problem.visibility.visible(facts_.batch, head_of(r), query_of(r),
                                                             static_cast<std::int64_t>(j));
  }
  std::span<const Ball> query(std::size_t r) const { return query_.matrix(0, 0).row(r); }
  std::span<const Ball> grad(std::size_t r) const { return grad_.matrix(0, 0).row(r); }

  std::optional<Row> full_row(std::size_t r) const;
  RowSums sums_of(std::size_t r) const;
  void bound_row(std::size_t r, const Row& row, RowSums& sums) const;
  GradientPair<Ball> pair(std::size_t r, std::size_t j, const Ball& weight) const;
  double norms(std::size_t r, std::size_t j) const {
    return facts_.grad_norm[r] * facts_.value_norms[j];
  }
  std::shared_ptr<const RowSums> row_sums(std::size_t r) const;
  Ball score(std::size_t r, std::size_t j) const;
  Ball slope(std::size_t r, std::size_t j) const;
  Ball difference(std::size_t r, std::size_t j, const Ball& delta) const;
  std::vector<Enclosed> finish(GradientKind kind, const Sums& sums) const;
  void add_key_term(std::size_t r, std::size_t j, const RowSums& row, Sums& key, Sums& value) const;
  Ball scale_of(GradientKind kind) const;
  GradientFinish recording(GradientKind kind) const;
  void finish_head(GradientKind kind, Sums& sums) const;
  RoundingBounds nothing_to_round(GradientKind kind) const;
  /// `value` is without the rule's factor, whose magnitude is `factor`.
  RoundingBounds bounds_of(GradientKind kind, const Sums& sums, std::size_t c, const Ball& value,
                           const Ball& factor) const;

  RowExact exact_row(std::size_t r) const;
  std::shared_ptr<const RowExact> row_exact(std::size_t r) const;
  Rational exact_product_with_value(std::size_t r, std::size_t j) const;
  std::optional<Rational> exact_query(std::size_t r, std::size_t column) const;
  std::optional<Rational> exact_key(std::size_t j, std::size_t column) const;
  std::optional<Rational> exact_value(std::size_t j, std::size_t column) const;
  std::optional<Rational> exact_derivative(const RowExact& row, std::size_t r, std::size_t j) const;
  std::optional<Rational> scaled(const Rational& sum) const;

  const GradientProblem& gradient_;
  const GradientFacts& facts_;
  std::shared_ptr<const Model> model_;  // null: none
  GradientFormats formats_;
  EnclosureReader reader_;
  Tensor<Ball> query_;  // [1, 1, rows, dk]
  Tensor<Ball> grad_;   // [1, 1, rows, dv]
  mutable std::mutex mutex_;
  mutable std::map<long, std::vector<std::shared_ptr<const RowSums>>> sums_;  // by precision
  mutable std::vector<std::shared_ptr<const RowExact>> exact_;
};

}  // namespace gqa
