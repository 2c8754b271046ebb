// The byte ledger: exact sizes of KV caches and of attention projections.
#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gqa/io/model_config.hpp"
#include "gqa/theory/storage_format.hpp"

namespace gqa {

/// Layers that keep the same number of positions.
struct CacheLayers {
  std::int64_t count = 0;
  std::optional<std::int64_t> window;  ///< positions kept at most; nullopt: all of them

  friend bool operator==(const CacheLayers&, const CacheLayers&) = default;
};

/// What decides the sizes. Every count is positive but `layers_without_cache`.
struct CacheModel {
  std::int64_t q_num_heads = 0;
  std::int64_t kv_num_heads = 0;
  std::int64_t key_size = 0;                ///< elements of one head's key
  std::int64_t value_size = 0;              ///< elements of one head's value
  std::optional<std::int64_t> hidden_size;  ///< for the projections
  std::vector<CacheLayers> layers;          ///< those that keep keys and values
  std::int64_t layers_without_cache = 0;
  StorageFormat key_format;
  StorageFormat value_format;
  PartialBlock partial_block = PartialBlock::refuse;

  std::int64_t cached_layers() const;
};

/// Errors: InputError at the flag-like name of the field ("kv_num_heads", "layers", ...):
/// "ledger.not_positive", "ledger.heads_not_divisible", and those of row_bytes.
void validate(const CacheModel& model);

/// The model of a configuration. Keys and values have its dtype unless a format is given.
/// Errors: InputError "model_config.missing_field" at the configuration's dtype if that is
/// needed and absent.
CacheModel cache_model(const ModelConfig& config, const std::optional<StorageFormat>& key_format,
                       const std::optional<StorageFormat>& value_format, PartialBlock partial);

/// How much is kept, and where.
struct CacheUse {
  std::int64_t batch = 1;      ///< sequences
  std::int64_t positions = 0;  ///< of each sequence
  std::int64_t ranks = 1;      ///< of tensor parallelism
  std::int64_t page_size =
      1;  ///< each sequence takes whole pages of so many positions in each layer
};

/// Errors: InputError "ledger.not_positive" at "batch", "positions" (0 is allowed), "ranks" or
/// "page_size"; "ledger.ranks_not_divisible" at "ranks": neither do the ranks divide the KV heads
/// nor the KV heads the ranks, or the ranks do not divide the query heads.
void validate(const CacheModel& model, const CacheUse& use);

/// Bytes of one position in one layer: kv_num_heads rows of keys and of values.
mpz_class bytes_per_layer_position(const CacheModel& model);
/// Bytes that one more position takes in all layers that keep it.
mpz_class bytes_per_position(const CacheModel& model);
/// The same once every windowed layer is full.
mpz_class bytes_per_position_beyond_windows(const CacheModel& model);

/// Positions that a layer keeps of each sequence: min(positions, window), whole pages.
mpz_class kept_positions(const CacheLayers& layers, const CacheUse& use);
/// Bytes of one of these layers, each KV head once.
mpz_class layer_bytes(const CacheModel& model, const CacheLayers& layers, const CacheUse& use);
/// Bytes of all layers, each KV head once, whatever the ranks.
mpz_class cache_bytes(const CacheModel& model, const CacheUse& use);

/// KV heads over the ranks of tensor parallelism. Query heads are split evenly and in order, so
/// rank r needs KV heads from floor(r Hkv / ranks) on: Hkv/ranks of them, or one that
/// ranks/Hkv ranks hold alike.
struct RankShare {
  std::int64_t kv_heads_per_rank = 0;
  std::int64_t replicas = 1;  ///< ranks that hold the same head
  mpz_class bytes_per_rank;
  mpz_class bytes_in_all;  ///< over the ranks, replicas counted

  std::int64_t first_kv_head(std::int64_t rank) const {
    return rank / replicas * kv_heads_per_rank;
  }
};
/// Precondition: validate(model, use) passed.
RankShare rank_share(const CacheModel& model, const CacheUse& use);

/// The largest number of positions whose cache fits in `budget` bytes on each rank; nullopt if
/// any number does (every layer is windowed). `use.positions` is not read.
std::optional<mpz_class> positions_within(const CacheModel& model, const CacheUse& use,
                                          const mpz_class& budget);

/// The certificate "byte_ledger" of cache_bytes. Precondition: use.positions > 0.
nlohmann::ordered_json certificate_of(const CacheModel& model, const CacheUse& use);

/// The same model with as many KV heads as query heads (MHA: kv_num_heads = q_num_heads) or any
/// other count.
CacheModel with_kv_heads(CacheModel model, std::int64_t kv_num_heads);

/// Weights of one layer's projections, without biases.
struct ProjectionParameters {
  mpz_class query;   ///< hidden_size x Hq key_size
  mpz_class key;     ///< hidden_size x Hkv key_size
  mpz_class value;   ///< hidden_size x Hkv value_size
  mpz_class output;  ///< Hq value_size x hidden_size

  mpz_class total() const { return query + key + value + output; }
};
/// nullopt if the hidden size is not known.
std::optional<ProjectionParameters> projection_parameters(const CacheModel& model);

}  // namespace gqa
