#include "gqa/theory/simplex.hpp"

#include <cstddef>

namespace gqa {
namespace {

// Rows in terms of the basis: the real columns, one artificial column a row, the right side last.
// The artificial columns hold the inverse of the basis.
class Tableau {
 public:
  Tableau(const RationalMatrix& rows, const RationalVector& right)
      : real_(rows[0].size()), rows_(rows) {
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      signs_.push_back(right[r] < 0 ? -1 : 1);
      rows_[r].resize(real_ + rows_.size());
      rows_[r].push_back(right[r]);
      for (Rational& x : rows_[r]) x *= signs_[r];
      rows_[r][real_ + r] = 1;
      basis_.push_back(real_ + r);
    }
  }

  /// Sets the objective to be maximised: the row of reduced costs, as multipliers.column - cost.
  void set_costs(const RationalVector& costs) {
    costs_.assign(rows_[0].size(), Rational(0));
    for (std::size_t c = 0; c < costs.size(); ++c) costs_[c] = -costs[c];
    for (std::size_t r = 0; r < rows_.size(); ++r) eliminate(costs_, r);
  }

  /// False if the objective has no bound.
  bool optimise() {
    bool bland = false;
    while (const std::optional<std::size_t> entering = entering_column(bland)) {
      const std::optional<std::size_t> leaving = leaving_row(*entering);
      if (!leaving) return false;
      const Rational before = value();
      pivot(*leaving, *entering);
      bland = value() == before;
    }
    return true;
  }

  /// After phase one: real columns take the place of artificial ones where they can.
  void drive_out_artificials() {
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (basis_[r] < real_) continue;
      for (std::size_t c = 0; c < real_; ++c) {
        if (rows_[r][c] == 0) continue;
        pivot(r, c);
        break;
      }
    }
  }

  const Rational& value() const { return costs_.back(); }

  RationalVector solution() const {
    RationalVector x(real_);
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (basis_[r] < real_) x[basis_[r]] = rows_[r].back();
    }
    return x;
  }

  /// multipliers = (costs of the basis) (inverse of the basis); `artificial_cost` was theirs.
  RationalVector multipliers(const Rational& artificial_cost) const {
    RationalVector result;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      result.push_back(Rational((costs_[real_ + r] + artificial_cost) * signs_[r]));
    }
    return result;
  }

  std::size_t columns() const { return real_ + rows_.size(); }

 private:
  std::optional<std::size_t> entering_column(bool first) const {
    std::optional<std::size_t> best;
    for (std::size_t c = 0; c < real_; ++c) {
      if (costs_[c] >= 0 || (best && costs_[c] >= costs_[*best])) continue;
      best = c;
      if (first) break;
    }
    return best;
  }

  // The row that limits the entering column most; the smallest basis index among equals.
  std::optional<std::size_t> leaving_row(std::size_t entering) const {
    std::optional<std::size_t> best;
    Rational best_ratio;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (rows_[r][entering] <= 0) continue;
      const Rational ratio = rows_[r].back() / rows_[r][entering];
      if (best && (ratio > best_ratio || (ratio == best_ratio && basis_[r] > basis_[*best]))) {
        continue;
      }
      best = r;
      best_ratio = ratio;
    }
    return best;
  }

  void pivot(std::size_t row, std::size_t column) {
    const Rational factor = rows_[row][column];
    for (Rational& x : rows_[row]) {
      if (x != 0) x /= factor;
    }
    basis_[row] = column;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (r != row) eliminate(rows_[r], row);
    }
    eliminate(costs_, row);
  }

  // Makes the target zero in the basis column of a row.
  void eliminate(RationalVector& target, std::size_t row) const {
    const Rational factor = target[basis_[row]];
    if (factor == 0) return;
    const RationalVector& source = rows_[row];
    for (std::size_t c = 0; c < target.size(); ++c) {
      if (source[c] != 0) target[c] -= factor * source[c];
    }
  }

  std::size_t real_;
  RationalMatrix rows_;
  RationalVector costs_;
  std::vector<int> signs_;
  std::vector<std::size_t> basis_;
};

}  // namespace

SimplexResult maximise(const RationalMatrix& rows, const RationalVector& right,
                       const RationalVector& objective) {
  SimplexResult result;
  Tableau tableau(rows, right);
  // Phase one: the artificial variables cost 1 each; at zero the rows hold without them.
  RationalVector penalties(tableau.columns());
  for (std::size_t c = objective.size(); c < penalties.size(); ++c) penalties[c] = -1;
  tableau.set_costs(penalties);
  tableau.optimise();
  if (tableau.value() < 0) {
    result.multipliers = tableau.multipliers(-1);
    for (Rational& x : result.multipliers) x = -x;
    return result;
  }
  result.feasible = true;
  tableau.drive_out_artificials();
  tableau.set_costs(objective);
  result.bounded = tableau.optimise();
  if (!result.bounded) return result;
  result.solution = tableau.solution();
  result.value = tableau.value();
  result.multipliers = tableau.multipliers(0);
  return result;
}

}  // namespace gqa
