// Faults of memory layouts and strides.
#include <array>
#include <bit>

#include "gqa/diagnose/faults/fault.hpp"

namespace gqa {
namespace {

// Nothing beside query, key and value that a mistaken walk would have to follow.
bool is_bare(const Behaviour& b) {
  return !b.mask && !b.bias && !b.lengths && !b.documents && !b.slopes && !b.past_key && !b.sink;
}

// [B, S, H, D] walked as [B, H', S', D]: the axes of heads and positions change places.
OperandView swapped(const OperandView& view) {
  OperandView result = view;
  result.rows = view.head_count();
  result.heads.clear();
  const HeadRows& first = view.heads.front();
  const std::int64_t head_stride = view.head_count() > 1 ? view.heads[1].offset - first.offset : 0;
  for (std::int64_t s = 0; s < view.rows; ++s) {
    HeadRows head = first;
    head.offset += s * first.row_stride;
    head.row_stride = head_stride;
    result.heads.push_back(head);
  }
  return result;
}

Edit apply_axes_swapped(Behaviour& b, std::int64_t) {
  if (b.contract.layout != Layout::bshd || !is_bare(b) || b.query.rows != b.key.rows) {
    return Edit::not_applicable;
  }
  for (OperandView* view : {&b.query, &b.key, &b.value, &b.output}) *view = swapped(*view);
  b.axes_swapped = true;
  b.key_head.resize(static_cast<std::size_t>(b.query_heads()));
  for (std::size_t h = 0; h < b.key_head.size(); ++h) {
    b.key_head[h] = static_cast<std::int64_t>(h);
  }
  b.value_head = b.mask_head = b.key_head;
  return b.query_heads() == 1 && b.query.rows == 1 ? Edit::same : Edit::changed;
}

// [B, T, H * D] reshaped to [B, H, T, D] as it lies.
void reshape(OperandView& view) {
  const std::int64_t head_size = view.rows * view.width;
  const std::int64_t start = view.heads.front().offset;
  for (std::int64_t h = 0; h < view.head_count(); ++h) {
    HeadRows& head = view.heads[static_cast<std::size_t>(h)];
    head.offset = start + h * head_size;
    head.row_stride = view.width;
  }
}

Edit apply_reshaped(Behaviour& b, std::int64_t) {
  if (b.contract.layout != Layout::bsh) return Edit::not_applicable;
  const bool same = b.query.rows == 1 && b.key.rows == 1;
  for (OperandView* view : {&b.query, &b.key, &b.value}) reshape(*view);
  return same ? Edit::same : Edit::changed;
}

Edit apply_value_stride(Behaviour& b, std::int64_t) {
  if (b.contract.layout != Layout::bhsd || b.past_key) return Edit::not_applicable;
  for (HeadRows& head : b.value.heads) head.row_stride = b.key.width;
  return b.key.width == b.value.width || b.value.rows == 1 ? Edit::same : Edit::changed;
}

Edit apply_batch_stride(Behaviour& b, std::int64_t) {
  if (b.contract.layout != Layout::bhsd) return Edit::not_applicable;
  for (OperandView* view : {&b.key, &b.value}) {
    for (HeadRows& head : view->heads) head.batch_stride *= b.group();
  }
  return b.batch() == 1 || b.group() == 1 ? Edit::same : Edit::changed;
}

Edit apply_value_strides_of_key(Behaviour& b, std::int64_t) {
  const std::int64_t factor = b.key_row_stride_factor;
  for (std::size_t h = 0; h < b.value.heads.size(); ++h) {
    const HeadRows& key = b.key.heads[h];
    HeadRows& value = b.value.heads[h];
    value.offset = key.offset * factor;
    value.row_stride = key.row_stride * factor;
    value.batch_stride = key.batch_stride * factor;
  }
  return factor == 1 && b.key.width == b.value.width ? Edit::same : Edit::changed;
}

Edit apply_head_size_fixed(Behaviour& b, std::int64_t) {
  if (b.value_size() < 2) return Edit::not_applicable;
  b.written_columns =
      static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(b.value_size() - 1)));
  return Edit::changed;
}

bool is_fusible(const Behaviour& b) {
  return b.key.width == b.value.width && b.query.rows == b.key.rows &&
         b.group() * b.key.head_count() == b.query_heads();
}

// Per position the rows of all heads in the order of [q | k | v] or of [q..q, k, v] per group.
std::vector<HeadRows> as_sections(const Behaviour& b) {
  std::vector<HeadRows> rows;
  for (const OperandView* view : {&b.query, &b.key, &b.value}) {
    rows.insert(rows.end(), view->heads.begin(), view->heads.end());
  }
  return rows;
}

// Index of group g's n-th row (q heads, then k, then v) in either order.
std::size_t in_groups(std::int64_t group, std::int64_t g, std::int64_t n) {
  return static_cast<std::size_t>(g * (group + 2) + n);
}
std::size_t in_sections(const Behaviour& b, std::int64_t g, std::int64_t n) {
  const std::int64_t group = b.group();
  if (n < group) return static_cast<std::size_t>(g * group + n);
  return static_cast<std::size_t>(b.query_heads() + (n - group) * b.key.head_count() + g);
}

void deal(Behaviour& b, const std::vector<HeadRows>& rows) {
  auto next = rows.begin();
  for (OperandView* view : {&b.query, &b.key, &b.value}) {
    for (HeadRows& head : view->heads) head = *next++;
  }
}

Edit regroup(Behaviour& b, bool to_sections) {
  if (!is_fusible(b)) return Edit::not_applicable;
  const std::vector<HeadRows> sections = as_sections(b);
  std::vector<HeadRows> moved = sections;
  for (std::int64_t g = 0; g < b.key.head_count(); ++g) {
    for (std::int64_t n = 0; n < b.group() + 2; ++n) {
      const std::size_t grouped = in_groups(b.group(), g, n);
      const std::size_t section = in_sections(b, g, n);
      if (to_sections) {
        moved[grouped] = sections[section];
      } else {
        moved[section] = sections[grouped];
      }
    }
  }
  deal(b, moved);
  return b.key.head_count() == 1 ? Edit::same : Edit::changed;
}

Edit apply_groups_as_sections(Behaviour& b, std::int64_t) {
  return regroup(b, true);
}
Edit apply_sections_as_groups(Behaviour& b, std::int64_t) {
  return regroup(b, false);
}

constexpr std::array layout_kinds{
    FaultKind{"layout.bshd_as_bhsd", "BSHD tensors are walked as BHSD",
              "attention over heads instead of positions", apply_axes_swapped},
    FaultKind{"layout.reshape_without_transpose",
              "folded heads are reshaped to [B, H, T, d] without the transpose",
              "reshape(B, H, T, d) instead of reshape(B, T, H, d).transpose(1, 2)", apply_reshaped},
    FaultKind{"layout.fused_groups_as_sections",
              "a fused QKV tensor stored per group is split as [q | k | v]",
              "[q | k | v] instead of [q..q, k, v] per group", apply_groups_as_sections},
    FaultKind{"layout.fused_sections_as_groups",
              "a fused QKV tensor stored as [q | k | v] is split per group",
              "[q..q, k, v] per group instead of [q | k | v]", apply_sections_as_groups},
    FaultKind{"layout.batch_stride_from_query", "the batch stride of K and V is that of Q",
              "b Hq S d instead of b Hkv S d", apply_batch_stride},
    FaultKind{"layout.value_strides_of_key", "V is walked with K's strides",
              "v[j] at j times K's row stride", apply_value_strides_of_key},
    FaultKind{"layout.value_stride_key_size", "V's rows are walked with the key's width",
              "v[j] at j dk instead of j dv", apply_value_stride},
    FaultKind{"layout.head_size_fixed", "columns past a fixed head size are never written",
              "o_c = 0 for c >= the largest power of two below dv", apply_head_size_fixed},
};

}  // namespace

std::span<const FaultKind> layout_faults() {
  return layout_kinds;
}

}  // namespace gqa
