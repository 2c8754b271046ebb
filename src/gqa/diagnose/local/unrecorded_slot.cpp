#include "gqa/diagnose/local/unrecorded_slot.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

constexpr std::size_t most_slot_rows = 16;
constexpr std::size_t most_slots = 512;

// One wrong row as declared.
struct SlotRow {
  RowPlace place;
  EvaluatedRow<double> declared;
  std::vector<double> recorded;
};

// What a slot holds if it is the one that is wrong.
struct SlotFit {
  std::vector<double> value;                              // u
  std::vector<double> others;                             // a_i
  double left = std::numeric_limits<double>::infinity();  // of the sum of squares
};

// A recorded slot, or one more than those recorded.
using Slot = std::optional<std::size_t>;

using History = std::pair<std::int64_t, std::int64_t>;  // batch entry, KV head

bool is_plain(const Behaviour& b) {
  return b.past() == 0 && b.key.row_divisor == 1 && b.value.row_divisor == 1 && !b.documents &&
         !b.bias && !b.slopes && !b.sink && b.contract.softcap == 0 && b.key_head == b.value_head;
}

std::vector<double> values_of(const Behaviour& b, const RowPlace& place, std::size_t key) {
  const OperandRow row =
      b.value_row(place.batch, b.value_head[extent(place.head)], static_cast<std::int64_t>(key));
  std::vector<double> values(extent(b.value_size()));
  for (std::size_t c = 0; c < values.size(); ++c) values[c] = row[static_cast<std::int64_t>(c)];
  return values;
}

std::map<History, std::vector<RowPlace>> rows_by_history(const LocalEvidence& evidence) {
  std::map<History, std::vector<RowPlace>> all;
  const Behaviour& b = evidence.problem.declared;
  for (const RowPlace& place : evidence.wrong.places()) {
    all[{place.batch, b.key_head[extent(place.head)]}].push_back(place);
  }
  for (auto& [history, rows] : all) rows = spread_out(rows, most_slot_rows);
  return all;
}

std::vector<SlotRow> evaluated(const Behaviour& b, const std::vector<RowPlace>& places) {
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
    if (!is_possible_ || !(all_ > 0)) return fit_;
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

// Does a row see every key, so that one more would be seen as well?
bool may_have_more(const Behaviour& b) {
  return b.queries() == 1 && !b.lengths && !b.mask && b.contract.window.is_unbounded() &&
         !(b.contract.causal && b.contract.causal_alignment == CausalAlignment::top_left);
}

// Those that are asked, the newest where there are many.
std::vector<Slot> possible_slots(const Behaviour& b, const std::vector<SlotRow>& rows) {
  std::vector<Slot> slots;
  if (may_have_more(b)) slots.emplace_back(std::nullopt);
  const auto& visible = rows.front().declared.visible;
  const std::size_t first = visible.size() > most_slots ? visible.size() - most_slots : 0;
  for (std::size_t n = first; n < visible.size(); ++n) slots.emplace_back(visible[n]);
  return slots;
}

// The slot that leaves next to nothing, if every other one leaves far more.
std::optional<Slot> wrong_slot(const LocalEvidence& evidence, const std::vector<SlotRow>& rows) {
  constexpr int rounds = 60;
  constexpr double most_left = 1e-3, far_more = 16;
  const Behaviour& b = evidence.problem.declared;
  const std::vector<Slot> slots = possible_slots(b, rows);
  std::vector<double> left(slots.size(), std::numeric_limits<double>::infinity());
  tbb::parallel_for(std::size_t{0}, left.size(), [&](std::size_t n) {
    if (evidence.problem.is_late()) return;
    left[n] = SlotFitter(b, rows, slots[n]).fitted(rounds).left;
  });
  const auto best = std::ranges::min_element(left);
  if (best == left.end() || !(*best < most_left)) return std::nullopt;
  const double least = *best;
  const auto is_near = [&](double other) { return other < far_more * least; };
  if (std::ranges::count_if(left, is_near) > 1) return std::nullopt;
  return slots[extent(best - left.begin())];
}

// x of A x = y for a small symmetric A, by elimination with pivots; empty where it has none.
std::vector<double> solved(std::vector<std::vector<double>> a, std::vector<double> y) {
  const std::size_t n = y.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i) {
      if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
    }
    if (!(std::abs(a[pivot][k]) > 0)) return {};
    std::swap(a[k], a[pivot]);
    std::swap(y[k], y[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = a[i][k] / a[k][k];
      for (std::size_t j = k; j < n; ++j) a[i][j] -= factor * a[k][j];
      y[i] -= factor * y[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) y[k] -= a[k][j] * y[j];
    y[k] /= a[k][k];
  }
  return y;
}

// The shortest key with q_i.k' such that row i gives it the weight 1 - a_i.
std::vector<double> key_of(const Behaviour& b, const std::vector<SlotRow>& rows, const SlotFit& fit,
                           const Slot& slot) {
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
  std::vector<std::vector<double>> gram(n, std::vector<double>(n, 0));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t d = 0; d < width; ++d) gram[i][j] += queries[i][d] * queries[j][d];
    }
  }
  const std::vector<double> factors = solved(std::move(gram), std::move(products));
  std::vector<double> key(factors.empty() ? 0 : width, 0);
  for (std::size_t i = 0; i < factors.size(); ++i) {
    for (std::size_t d = 0; d < width; ++d) key[d] += factors[i] * queries[i][d];
  }
  return key;
}

struct SlotContent {
  History history;
  std::vector<double> key, value;
};

// A copy with the rows of one slot written over, or behind all of them.
OperandView with_rows(const OperandView& view, const Slot& slot,
                      const std::vector<SlotContent>& contents,
                      std::vector<double> SlotContent::*part) {
  OperandView other = view;
  other.rows = view.rows + (slot ? 0 : 1);
  auto data = std::make_shared<std::vector<double>>(
      extent(view.batch * view.head_count() * other.rows * view.width));
  for (std::int64_t h = 0; h < view.head_count(); ++h) {
    other.heads[extent(h)] = {data, h * other.rows * view.width,
                              view.head_count() * other.rows * view.width, view.width, 1};
    for (std::int64_t b = 0; b < view.batch; ++b) {
      for (std::int64_t j = 0; j < view.rows; ++j) {
        for (std::int64_t d = 0; d < view.width; ++d) {
          (*data)[extent(other.heads[extent(h)].index(b, j, d))] = view.at(b, h, j, d);
        }
      }
    }
  }
  const auto row = slot ? static_cast<std::int64_t>(*slot) : view.rows;
  for (const SlotContent& content : contents) {
    const HeadRows& head = other.heads[extent(content.history.second)];
    for (std::int64_t d = 0; d < view.width; ++d) {
      (*data)[extent(head.index(content.history.first, row, d))] = (content.*part)[extent(d)];
    }
  }
  return other;
}

// The recorded slot whose value is nearly the one found, in every history.
std::optional<std::int64_t> recorded_slot(const Behaviour& b,
                                          const std::vector<SlotContent>& contents) {
  constexpr double near = 0.02;
  for (std::int64_t j = 0; j < b.keys(); ++j) {
    const bool is_same = std::ranges::all_of(contents, [&](const SlotContent& content) {
      double distance = 0, size = 0;
      for (std::size_t c = 0; c < content.value.size(); ++c) {
        const double value = b.value_at(content.history.first, content.history.second, j,
                                        static_cast<std::int64_t>(c));
        distance += square(content.value[c] - value);
        size += square(value);
      }
      return distance <= square(near) * size;
    });
    if (is_same) return j;
  }
  return std::nullopt;
}

std::optional<std::vector<SlotContent>> contents_of(
    const LocalEvidence& evidence, const std::map<History, std::vector<RowPlace>>& histories,
    const Slot& slot) {
  constexpr int rounds = 2000;
  const Behaviour& b = evidence.problem.declared;
  std::vector<SlotContent> contents;
  for (const auto& [history, places] : histories) {
    const std::vector<SlotRow> rows = evaluated(b, places);
    if (rows.size() < 2 || evidence.problem.is_late()) return std::nullopt;
    const SlotFit fit = SlotFitter(b, rows, slot).fitted(rounds);
    if (fit.value.empty()) return std::nullopt;
    contents.push_back({history, key_of(b, rows, fit, slot), fit.value});
    if (contents.back().key.empty()) return std::nullopt;
  }
  return contents;
}

Edit write_slot(Behaviour& behaviour, const Slot& slot, const std::vector<SlotContent>& contents) {
  behaviour.key = with_rows(behaviour.key, slot, contents, &SlotContent::key);
  behaviour.value = with_rows(behaviour.value, slot, contents, &SlotContent::value);
  // The only row sees all keys, wherever the diagonal is said to be.
  constexpr std::int64_t far = std::int64_t{1} << 40;
  if (!slot) behaviour.range_override = {-far, far};
  return Edit::changed;
}

// "the slot of key 5 holds another key and value, those of key 4".
std::string slot_words(const Behaviour& b, const Slot& slot,
                       const std::vector<SlotContent>& contents) {
  const auto source = recorded_slot(b, contents);
  if (!slot) {
    return "one key more than those recorded is read, " +
           (source ? fmt::format("with the value of key {}", *source)
                   : std::string("with a value that none of them has (a length that is one too "
                                 "long, or a step that was written one slot late)"));
  }
  return fmt::format("the slot of key {} holds another key and value, {}", *slot,
                     source && *source != static_cast<std::int64_t>(*slot)
                         ? fmt::format("those of key {}", *source)
                         : std::string("none of those recorded (a step that was written "
                                       "elsewhere, or not yet)"));
}

}  // namespace

std::optional<Explanation> unrecorded_slot(const LocalEvidence& evidence) {
  const Behaviour& b = evidence.problem.declared;
  if (!is_plain(b) || evidence.region.columns) return std::nullopt;
  const auto histories = rows_by_history(evidence);
  const std::vector<SlotRow> rows = evaluated(b, histories.begin()->second);
  if (rows.size() < 2) return std::nullopt;
  const auto slot = wrong_slot(evidence, rows);
  if (!slot) return std::nullopt;
  const auto contents = contents_of(evidence, histories, *slot);
  if (!contents) return std::nullopt;
  const Fault fault{&keys_unrecorded, 0,
                    [slot = *slot, all = *contents](Behaviour& behaviour) {
                      return write_slot(behaviour, slot, all);
                    },
                    *slot ? fmt::format("key {}", **slot) : std::string("one more")};
  Region part;
  if (*slot) {
    const auto key = static_cast<std::int64_t>(**slot);
    part.keys = IndexSet{{{key, key}}};
  }
  return confirmed_explanation(evidence, fault, part, [&](const Region& region) {
    return slot_words(b, *slot, *contents) + in_place(region);
  });
}

}  // namespace gqa
