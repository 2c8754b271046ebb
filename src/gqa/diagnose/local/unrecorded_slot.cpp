#include "gqa/diagnose/local/unrecorded_slot.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "gqa/diagnose/local/slot_fit.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

constexpr std::size_t most_slot_rows = 16;
constexpr std::size_t most_slots = 512;

using History = std::pair<std::int64_t, std::int64_t>;  // batch entry, KV head

bool is_plain(const Behaviour& b) {
  return b.past() == 0 && b.key.row_divisor == 1 && b.value.row_divisor == 1 && !b.documents &&
         !b.bias && !b.slopes && !b.sink && b.contract.softcap == 0 && b.key_head == b.value_head;
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
    left[n] = fit_slot(b, rows, slots[n], rounds).left;
  });
  const auto best = std::ranges::min_element(left);
  if (best == left.end() || !(*best < most_left)) return std::nullopt;
  const double least = *best;
  const auto is_near = [&](double other) { return other < far_more * least; };
  if (std::ranges::count_if(left, is_near) > 1) return std::nullopt;
  return slots[extent(best - left.begin())];
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
    const std::vector<SlotRow> rows = evaluated_slot_rows(b, places);
    if (rows.size() < 2 || evidence.problem.is_late()) return std::nullopt;
    const SlotFit fit = fit_slot(b, rows, slot, rounds);
    if (fit.value.empty()) return std::nullopt;
    contents.push_back({history, key_of_slot(b, rows, fit, slot), fit.value});
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
  const std::vector<SlotRow> rows = evaluated_slot_rows(b, histories.begin()->second);
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
