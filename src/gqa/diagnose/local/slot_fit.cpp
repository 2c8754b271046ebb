#include "gqa/diagnose/local/slot_fit.hpp"

#include <algorithm>
#include <cmath>

#include "gqa/diagnose/local/least_squares.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

std::vector<double> values_of(const Behaviour& b, const RowPlace& place, std::size_t key) {
  const OperandRow row =
      b.value_row(place.batch, b.value_head[extent(place.head)], static_cast<std::int64_t>(key));
  std::vector<double> values(extent(b.value_size()));
  for (std::size_t c = 0; c < values.size(); ++c) values[c] = row[static_cast<std::int64_t>(c)];
  return values;
}

// The weight that a row gives a slot; 0 where it does not see it.
double weight_of(const SlotRow& row, const Slot& slot) {
  if (!slot) return 0;
  const std::size_t key = *slot;
  const auto found = std::ranges::lower_bound(row.declared.visible, key);
  if (found == row.declared.visible.end() || *found != key) return 0;
  return row.declared.weights[extent(found - row.declared.visible.begin())];
}

double distance_squared(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t c = 0; c < a.size(); ++c) sum += square(a[c] - b[c]);
  return sum;
}

class SlotFitter {
 public:
  SlotFitter(const Behaviour& b, const std::vector<SlotRow>& rows, const Slot& slot) : rows_(rows) {
    constexpr double first_guess = 0.9;  // of a slot more
    for (const SlotRow& row : rows) {
      const double weight = weight_of(row, slot);
      is_possible_ = is_possible_ && weight < 1 && (!slot || weight > 0);
      if (!is_possible_) return;
      std::vector<double>& without = without_.emplace_back(row.declared.output);
      fit_.others.push_back(slot ? 1 - weight : first_guess);
      if (slot) leave_out(values_of(b, row.place, *slot), weight, without);
      all_ += distance_squared(row.recorded, row.declared.output);
    }
  }

  SlotFit fitted(int rounds) {
    if (!is_possible_ || !(all_ > 0) || !is_determined()) return fit_;
    for (int round = 0; round < rounds; ++round) {
      fit_value();
      fit_others();
    }
    double left = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      for (std::size_t c = 0; c < fit_.value.size(); ++c) {
        const double a = fit_.others[i];
        left += square(rows_[i].recorded[c] - a * without_[i][c] - (1 - a) * fit_.value[c]);
      }
    }
    fit_.left = left / all_;
    return fit_;
  }

 private:
  // Two lines of a plane always meet.
  bool is_determined() const {
    const std::size_t columns = without_.front().size();
    return 2 * rows_.size() * columns >= 3 * (rows_.size() + columns);
  }

  static void leave_out(const std::vector<double>& value, double weight,
                        std::vector<double>& output) {
    for (std::size_t c = 0; c < value.size(); ++c) {
      output[c] = (output[c] - weight * value[c]) / (1 - weight);
    }
  }

  void fit_value() {
    fit_.value.assign(without_.front().size(), 0);
    double squares = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const double a = fit_.others[i];
      squares += square(1 - a);
      for (std::size_t c = 0; c < fit_.value.size(); ++c) {
        fit_.value[c] += (1 - a) * (rows_[i].recorded[c] - a * without_[i][c]);
      }
    }
    for (double& x : fit_.value) x /= squares;
  }

  // A weight is between 0 and 1, and no row gives all of it to one slot.
  void fit_others() {
    constexpr double least = 1e-9;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      double products = 0, squares = 0;
      for (std::size_t c = 0; c < fit_.value.size(); ++c) {
        const double along = without_[i][c] - fit_.value[c];
        products += (rows_[i].recorded[c] - fit_.value[c]) * along;
        squares += square(along);
      }
      if (squares > 0) fit_.others[i] = std::clamp(products / squares, least, 1 - least);
    }
  }

  const std::vector<SlotRow>& rows_;
  std::vector<std::vector<double>> without_;  // A_i
  SlotFit fit_;
  double all_ = 0;
  bool is_possible_ = true;
};

}  // namespace

std::vector<SlotRow> evaluated_slot_rows(const Behaviour& b, const std::vector<RowPlace>& places) {
  std::vector<SlotRow> rows;
  for (const RowPlace& place : places) {
    SlotRow row{place, evaluate_row<double>(b, place.batch, place.head, place.row), {}};
    for (std::int64_t c = 0; c < b.value_size(); ++c) row.recorded.push_back(recorded(b, place, c));
    const bool is_finite =
        std::ranges::all_of(row.recorded, [](double x) { return std::isfinite(x); });
    if (!is_finite || row.declared.anything || row.declared.visible.empty()) return {};
    rows.push_back(std::move(row));
  }
  return rows;
}

SlotFit fit_slot(const Behaviour& behaviour, const std::vector<SlotRow>& rows, const Slot& slot,
                 int rounds) {
  return SlotFitter(behaviour, rows, slot).fitted(rounds);
}

// The shortest key with q_i.k' such that row i gives it the weight 1 - a_i.
std::vector<double> key_of_slot(const Behaviour& b, const std::vector<SlotRow>& rows,
                                const SlotFit& fit, const Slot& slot) {
  const double scale = b.score_scaled ? b.scale.midpoint_double() : 1;
  const std::size_t n = rows.size(), width = extent(b.key_size());
  std::vector<std::vector<double>> queries;
  std::vector<double> products;
  for (std::size_t i = 0; i < n; ++i) {
    const RowPlace& place = rows[i].place;
    std::vector<double>& query = queries.emplace_back(width);
    for (std::size_t d = 0; d < width; ++d) {
      query[d] = b.query.at(place.batch, place.head, place.row, static_cast<std::int64_t>(d));
    }
    // exp(s') = (sum of the others' exp) (1 - a) / a, and log of that sum from the declared row.
    const double others = log_sum_exp(rows[i].declared) + std::log1p(-weight_of(rows[i], slot));
    const double a = fit.others[i];
    products.push_back((others + std::log((1 - a) / a)) / scale);
  }
  NormalEquations equations(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> gram(n, 0);
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t d = 0; d < width; ++d) gram[j] += queries[i][d] * queries[j][d];
    }
    equations.add(gram.data(), products[i]);
  }
  const auto solution = equations.solved();
  const std::vector<double> factors = solution ? solution->values : std::vector<double>{};
  std::vector<double> key(factors.empty() ? 0 : width, 0);
  for (std::size_t i = 0; i < factors.size(); ++i) {
    for (std::size_t d = 0; d < width; ++d) key[d] += factors[i] * queries[i][d];
  }
  return key;
}

}  // namespace gqa
