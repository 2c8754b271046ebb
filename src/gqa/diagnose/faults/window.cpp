// Faults of the sliding window.
#include <algorithm>
#include <array>

#include "gqa/diagnose/evaluate/row_keys.hpp"
#include "gqa/diagnose/faults/fault.hpp"

namespace gqa {
namespace {

Edit widen(Behaviour& b, std::int64_t by) {
  std::int64_t& left = b.contract.window.left;
  if (left < 0 || left + by < 0) return Edit::not_applicable;
  left += by;
  return Edit::changed;
}

Edit apply_one_wide(Behaviour& b, std::int64_t) {
  return widen(b, 1);
}
Edit apply_one_narrow(Behaviour& b, std::int64_t) {
  return widen(b, -1);
}
Edit apply_ring_start(Behaviour& b, std::int64_t) {
  return b.queries() == 1 ? widen(b, -1) : Edit::not_applicable;
}
Edit apply_window_ignored(Behaviour& b, std::int64_t) {
  if (b.contract.window.is_unbounded()) return Edit::not_applicable;
  b.contract.window = Window{};
  return Edit::changed;
}

// Is a key of the batch entry hidden behind the first block? The first row sees least of what
// comes late, the last row least of what comes early.
bool shows_end_of_block(const Behaviour& b, std::int64_t batch, std::int64_t block) {
  const RowKeys first = keys_of_row(b, batch, 0, 0);
  const RowKeys last = keys_of_row(b, batch, 0, b.queries() - 1);
  const Window& window = b.contract.window;
  const bool bounded_right = b.contract.causal || window.right >= 0;
  const std::int64_t reach = b.contract.causal ? 0 : window.right;
  return (bounded_right && std::max(first.position + reach + 1, block) < first.end - first.begin) ||
         (window.left >= 0 && block < last.position - window.left);
}

// A block as long as all histories is no block: then the rules are not applied at all, and that
// has names of its own.
Edit apply_first_block(Behaviour& b, std::int64_t block) {
  if (!b.contract.causal && b.contract.window.is_unbounded()) return Edit::not_applicable;
  b.first_block = block;
  for (std::int64_t batch = 0; batch < b.batch(); ++batch) {
    if (shows_end_of_block(b, batch, block)) return Edit::changed;
  }
  return Edit::saturated;
}

constexpr std::array<std::int64_t, 8> first_blocks{1, 2, 4, 8, 16, 32, 64, 128};

constexpr std::array window_kinds{
    FaultKind{"window.one_wide", "the window is one key too wide",
              "p - left - 1 <= j instead of p - left <= j", apply_one_wide},
    FaultKind{"window.one_narrow", "the window is one key too narrow",
              "p - left + 1 <= j instead of p - left <= j", apply_one_narrow},
    FaultKind{"window.ring_start",
              "decoding from a ring buffer starts one slot late: the oldest live key is lost",
              "p - left + 1 <= j at T = 1", apply_ring_start},
    FaultKind{"window.ignored", "the window is not applied", "every key that causality allows",
              apply_window_ignored},
    FaultKind{"window.first_block_unbounded",
              "the first keys are visible to every row, whatever causality and window say",
              "j < block or (causal and window)", apply_first_block, first_blocks,
              "block of {} keys"},
};

}  // namespace

std::span<const FaultKind> window_faults() {
  return window_kinds;
}

}  // namespace gqa
