// Faults of the map from query heads to KV heads.
#include <array>

#include "gqa/diagnose/faults/fault.hpp"

namespace gqa {
namespace {

using HeadRule = std::int64_t (*)(std::int64_t head, std::int64_t q_heads, std::int64_t kv_heads);

std::int64_t tiled(std::int64_t head, std::int64_t, std::int64_t kv_heads) {
  return head % kv_heads;
}
std::int64_t first(std::int64_t, std::int64_t, std::int64_t) {
  return 0;
}
// Two ranks that both load the first half of the KV heads.
std::int64_t first_shard(std::int64_t head, std::int64_t q_heads, std::int64_t kv_heads) {
  return head / (q_heads / kv_heads) % (kv_heads / 2);
}
// Twice as many ranks as KV heads, each taking the head of its own number, modulo.
std::int64_t replica_modulo(std::int64_t head, std::int64_t q_heads, std::int64_t kv_heads) {
  return head / (q_heads / (2 * kv_heads)) % kv_heads;
}

Edit remap(std::vector<std::int64_t>& map, const Behaviour& behaviour, HeadRule rule) {
  bool changed = false;
  for (std::size_t h = 0; h < map.size(); ++h) {
    const std::int64_t head =
        rule(static_cast<std::int64_t>(h), behaviour.query_heads(), behaviour.key.head_count());
    changed = changed || head != map[h];
    map[h] = head;
  }
  return changed ? Edit::changed : Edit::same;
}

Edit remap_both(Behaviour& behaviour, HeadRule rule) {
  const Edit keys = remap(behaviour.key_head, behaviour, rule);
  const Edit values = remap(behaviour.value_head, behaviour, rule);
  return keys == Edit::changed ? keys : values;
}

// The rules read the map as contiguous; a declared list is another matter.
bool is_divisible(const Behaviour& behaviour) {
  return behaviour.query_heads() % behaviour.key.head_count() == 0;
}

Edit apply_tiled(Behaviour& b, std::int64_t) {
  return remap_both(b, tiled);
}
Edit apply_single(Behaviour& b, std::int64_t) {
  return remap_both(b, first);
}
Edit apply_key_tiled(Behaviour& b, std::int64_t) {
  return remap(b.key_head, b, tiled);
}
Edit apply_value_tiled(Behaviour& b, std::int64_t) {
  return remap(b.value_head, b, tiled);
}
Edit apply_first_shard(Behaviour& b, std::int64_t) {
  if (!is_divisible(b) || b.key.head_count() % 2 != 0) return Edit::not_applicable;
  return remap_both(b, first_shard);
}
Edit apply_replica_modulo(Behaviour& b, std::int64_t) {
  if (b.key.head_count() < 2 || b.query_heads() % (2 * b.key.head_count()) != 0) {
    return Edit::not_applicable;
  }
  return remap_both(b, replica_modulo);
}

// repeat_kv for [B, H, S, D] applied to [B, S, H, D]: every key appears G times. Only one KV
// head then broadcasts to the query heads.
Edit apply_sequence_repeated(Behaviour& b, std::int64_t) {
  if (b.key.head_count() != 1 || b.query_heads() == 1 || b.mask || b.bias || b.documents) {
    return Edit::not_applicable;
  }
  const std::int64_t group = b.query_heads();
  for (OperandView* view : {&b.key, &b.value}) view->row_divisor = group;
  if (b.past_key) b.past_key->row_divisor = b.past_value->row_divisor = group;
  if (b.lengths) {
    for (std::int64_t& length : *b.lengths) length *= group;
  }
  b.length_shortfall *= group;
  return Edit::changed;
}

constexpr std::array head_map_kinds{
    FaultKind{"head_map.tiled",
              "the KV heads are tiled (repeat) instead of each being repeated for its group "
              "(repeat_interleave)",
              "kv(h) = h mod Hkv instead of floor(h / (Hq / Hkv))", apply_tiled},
    FaultKind{"head_map.single_kv_head", "every query head reads KV head 0", "kv(h) = 0",
              apply_single},
    FaultKind{"head_map.key_tiled", "the keys' head map is tiled, the values' is right",
              "kv(h) = h mod Hkv for K alone", apply_key_tiled},
    FaultKind{"head_map.value_tiled", "the values' head map is tiled, the keys' is right",
              "kv(h) = h mod Hkv for V alone", apply_value_tiled},
    FaultKind{"head_map.first_shard", "both of two ranks load the first half of the KV heads",
              "kv(h) = floor(h / G) mod (Hkv / 2)", apply_first_shard},
    FaultKind{"head_map.replica_modulo",
              "with twice as many ranks as KV heads, rank r holds KV head r mod Hkv",
              "kv(h) = floor(h / (Hq / (2 Hkv))) mod Hkv", apply_replica_modulo},
    FaultKind{"head_map.sequence_repeated",
              "the KV history is repeated along the positions instead of the heads",
              "key j' is key floor(j' / G) of a history of G S keys", apply_sequence_repeated},
};

}  // namespace

std::span<const FaultKind> head_map_faults() {
  return head_map_kinds;
}

}  // namespace gqa
