// What a model's config.json says about its attention.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gqa/attention/typed_tensor.hpp"

namespace gqa {

/// The attention of a Transformers configuration. Every count is positive.
struct ModelConfig {
  std::string model_type;  ///< of the text model
  std::int64_t hidden_size = 0;
  std::int64_t q_num_heads = 0;
  std::int64_t kv_num_heads = 0;
  std::int64_t head_size = 0;
  /// Layer by layer the sliding window, that is the positions that are visible with the query's
  /// own; nullopt: all of them.
  std::vector<std::optional<std::int64_t>> layer_windows;
  std::optional<ElementType> dtype;  ///< nullopt: not stated
  /// "field = value", for the fields that a nested configuration left to its class.
  std::vector<std::string> class_defaults;
  std::string dtype_field;  ///< "`where`: FIELD", where the dtype is or should be
};

/// The element type of keys and values as the model computes them.
/// Errors: InputError "model_config.missing_field" at `dtype_field` if no dtype is stated.
ElementType cache_element_type(const ModelConfig& config);

/// Reads a configuration of llama, mistral, mixtral, qwen2, qwen2_moe, qwen2_vl, qwen3, qwen3_moe,
/// gemma, gemma2, gemma3_text, phi3, gpt_oss, cohere, cohere2, granite, olmo, olmo2, starcoder2,
/// smollm3, glm4, gpt_neox, gpt2, gpt_bigcode or falcon, or one that nests such a configuration as
/// `text_config`.
///
/// An explicit head_dim wins over hidden_size / num_attention_heads. What an absent or null field
/// means is what the configuration's class defines where it derives it from other fields. Where
/// the class holds a number of its own instead, a nested configuration has it (its file is written
/// as the difference from its class), and it is listed in `class_defaults`; in an outermost
/// configuration, whose file is written in full, the field is missing.
///
/// Errors, all InputError at "`where`: field", the field with `text_config.` if nested:
/// - those of parse_json_strictly
/// - "model_config.missing_field", "model_config.field_type", "model_config.not_positive"
/// - "model_config.contradictory": two fields cannot both hold
/// - "model_config.unknown_architecture" at model_type
/// - "model_config.latent_attention" at kv_lora_rank: what is cached are no keys and values
/// - "model_config.hybrid": some layers are no attention layers, or share their cache, in a way
///   that is not known here; at the field that says so
/// - "model_config.unknown_dtype"
///
/// Source: the configuration classes of Hugging Face Transformers
/// (src/transformers/models/NAME/configuration_NAME.py) and, for nested ones, the method
/// to_diff_dict of its PretrainedConfig.
ModelConfig parse_model_config(std::string_view text, const std::string& where);

/// As parse_model_config, and the errors of read_file. A directory stands for the config.json in
/// it.
ModelConfig read_model_config(const std::filesystem::path& path);

}  // namespace gqa
