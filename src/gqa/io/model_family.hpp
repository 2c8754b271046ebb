// What the configuration classes of Transformers define where a file is silent.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gqa {

/// How a family assigns its sliding window to layers where no `layer_types` does.
enum class WindowRule {
  none,                 ///< the family has no window
  every_layer,          ///< wherever sliding_window is not null
  every_layer_if_used,  ///< the same if use_sliding_window
  last_layers,          ///< from layer max_window_layers on, if use_sliding_window
  alternating,          ///< layers 0, 2, 4, ...
  pattern,              ///< all but every sliding_window_pattern-th
  listed_if_used,       ///< those that layer_types lists, if use_sliding_window
};

/// Where the number of KV heads stands.
enum class KvHeadRule {
  stated,       ///< num_key_value_heads
  multi_query,  ///< 1 if multi_query, else as many as query heads
  falcon,       ///< num_kv_heads if new_decoder_architecture, else as multi_query
};

/// What a class calls its sizes.
struct SizeNames {
  const char* hidden = "hidden_size";
  const char* layers = "num_hidden_layers";
  const char* heads = "num_attention_heads";
};

/// What null means for a field that is derived from others.
enum class NullMeans { refused, derived };

/// One configuration class. A number is the class's own; nullopt: it has none.
struct ModelFamily {
  std::string_view model_type;
  std::optional<std::int64_t> num_hidden_layers;
  std::optional<std::int64_t> hidden_size;
  std::optional<std::int64_t> num_attention_heads;
  std::optional<std::int64_t> num_key_value_heads;  ///< nullopt: as many as query heads
  NullMeans null_key_value_heads;
  std::optional<std::int64_t> head_dim;  ///< nullopt: hidden_size / num_attention_heads
  NullMeans null_head_dim;
  WindowRule window_rule;
  std::optional<std::int64_t> sliding_window;  ///< nullopt: no window
  std::int64_t window_pattern = 6;             ///< its own sliding_window_pattern
  KvHeadRule kv_head_rule = KvHeadRule::stated;
  SizeNames names = {};
};

/// nullptr if the family is not known.
const ModelFamily* find_model_family(std::string_view model_type);

}  // namespace gqa
