// Faults of lengths, documents and the past.
#include <algorithm>
#include <array>

#include "gqa/diagnose/evaluate/row_keys.hpp"
#include "gqa/diagnose/faults/fault.hpp"

namespace gqa {
namespace {

Edit apply_capacity(Behaviour& b, std::int64_t) {
  if (!b.lengths) return Edit::not_applicable;
  const std::vector<std::int64_t> before = *b.lengths;
  std::fill(b.lengths->begin(), b.lengths->end(), b.keys());
  return *b.lengths == before ? Edit::same : Edit::changed;
}
Edit apply_one_short(Behaviour& b, std::int64_t) {
  b.length_shortfall = 1;
  return Edit::changed;
}
Edit apply_documents_mixed(Behaviour& b, std::int64_t) {
  if (!b.documents) return Edit::not_applicable;
  Documents one;
  one.query_starts = {0, b.queries()};
  one.key_starts = {0, b.keys()};
  const bool same = one == *b.documents;
  b.documents = std::move(one);
  return same ? Edit::same : Edit::changed;
}
Edit apply_past_dropped(Behaviour& b, std::int64_t) {
  if (!b.past_key || b.past() == 0) return Edit::not_applicable;
  b.past_key.reset();
  b.past_value.reset();
  if (b.lengths) std::fill(b.lengths->begin(), b.lengths->end(), b.keys());
  return Edit::changed;
}

// With as many rows as keys there is no history.
Edit apply_history_zeros(Behaviour& b, std::int64_t) {
  b.history_is_zero = true;
  const std::vector<std::int64_t> rows =
      b.documents ? b.documents->query_starts : std::vector<std::int64_t>{0};
  for (std::int64_t batch = 0; batch < b.batch(); ++batch) {
    for (const std::int64_t row : rows) {
      if (row == b.queries()) continue;  // the end of the last document, or no row at all
      const RowKeys keys = keys_of_row(b, batch, 0, row);
      if (keys.zeros_end > keys.begin) return Edit::changed;
    }
  }
  return Edit::same;
}

constexpr std::array length_kinds{
    FaultKind{"length.past_dropped", "the past keys are ignored", "keys = the new ones alone",
              apply_past_dropped},
    FaultKind{"length.history_zeros",
              "the keys and values before the newest T read as zeros: a cache that was never "
              "written, or was trimmed away",
              "k_j = v_j = 0 for j < L - T", apply_history_zeros},
    FaultKind{"length.capacity", "the cache's capacity is taken for its length",
              "every slot up to the capacity is visible", apply_capacity},
    FaultKind{"length.one_short", "the cached length is one short: the newest key is dropped",
              "L - 1 instead of L", apply_one_short},
    FaultKind{"length.documents_mixed", "packed documents attend across their boundaries",
              "cu_seqlens ignored", apply_documents_mixed},
};

}  // namespace

std::span<const FaultKind> length_faults() {
  return length_kinds;
}

}  // namespace gqa
