#include "gqa/io/model_config.hpp"

#include <fmt/format.h>

#include <array>

#include "gqa/error.hpp"
#include "gqa/io/file.hpp"
#include "gqa/io/json.hpp"
#include "gqa/io/model_config_fields.hpp"

namespace gqa {
namespace {

using nlohmann::json;

// Fields that only models with other layers than attention, or with shared caches, have.
constexpr std::array hybrid_fields{
    "layers_block_type",
    "block_types",
    "hybrid_override_pattern",
    "full_attention_interval",
    "attn_layer_indices",
    "attn_layer_period",
    "attention_layer_period",
    "mamba_d_state",
    "ssm_cfg",
    "ssm_state_size",
    "linear_num_key_heads",
    "linear_attn_config",
    "lru_width",
    "num_kv_shared_layers",
    "attention_chunk_size",
    "recurrent_block_type",
    "cross_attention_layers",
};

void refuse_other_caches(const ModelConfigFields& fields) {
  if (fields.states("kv_lora_rank")) {
    fields.fail("model_config.latent_attention", "kv_lora_rank",
                "the model caches a latent vector, not keys and values; this ledger does not "
                "count it");
  }
  for (const char* field : hybrid_fields) {
    if (fields.states(field)) {
      fields.fail("model_config.hybrid", field,
                  "some layers keep something else than their own keys and values; this ledger "
                  "does not count them");
    }
  }
}

const ModelFamily& family_of(const ModelConfigFields& fields, const std::string& outer_type) {
  std::optional<std::string> type = fields.text("model_type");
  if (!type && fields.nested() && outer_type == "gemma3") type = "gemma3_text";
  if (!type) fields.missing("model_type", "is missing");
  const ModelFamily* family = find_model_family(*type);
  if (family == nullptr) {
    fields.fail(
        "model_config.unknown_architecture", "model_type",
        fmt::format("\"{}\" is not known; state the shape instead of the file", printable(*type)));
  }
  return *family;
}

// A switch that the class sets to `of_class` where a nested configuration is silent.
bool flag_or_class(const ModelConfigFields& fields, const char* field, bool of_class) {
  if (!fields.nested() && !fields.states(field)) fields.missing(field, "is missing");
  return fields.flag(field).value_or(of_class);
}

// 1, all, or as many as a field says, by switches.
std::int64_t switched_kv_heads(const ModelConfigFields& fields, const ModelFamily& family,
                               std::int64_t q_heads) {
  if (family.kv_head_rule == KvHeadRule::falcon &&
      flag_or_class(fields, "new_decoder_architecture", false)) {
    return fields.states("num_kv_heads") ? fields.count("num_kv_heads") : q_heads;
  }
  return flag_or_class(fields, "multi_query", true) ? 1 : q_heads;
}

std::int64_t read_kv_heads(ModelConfigFields& fields, const ModelFamily& family,
                           std::int64_t q_heads) {
  const bool is_switched = family.kv_head_rule != KvHeadRule::stated;
  const std::string field = is_switched ? "num_kv_heads" : "num_key_value_heads";
  if (is_switched) {
    const std::int64_t kv_heads = switched_kv_heads(fields, family, q_heads);
    if (q_heads % kv_heads == 0) return kv_heads;
    fields.fail("model_config.contradictory", field,
                fmt::format("{} query heads cannot share {} KV heads evenly", q_heads, kv_heads));
  }
  const bool derived = (fields.absent(field) && !family.num_key_value_heads) ||
                       (fields.is_null(field) && family.null_key_value_heads == NullMeans::derived);
  const std::int64_t kv_heads =
      derived ? q_heads : fields.count_or_class(field, family.num_key_value_heads);
  if (q_heads % kv_heads != 0) {
    fields.fail("model_config.contradictory", field,
                fmt::format("{} query heads cannot share {} KV heads evenly", q_heads, kv_heads));
  }
  return kv_heads;
}

std::int64_t read_head_size(ModelConfigFields& fields, const ModelFamily& family,
                            const ModelConfig& config) {
  const std::string field = "head_dim";
  const bool derived = (fields.absent(field) && !family.head_dim) ||
                       (fields.is_null(field) && family.null_head_dim == NullMeans::derived);
  if (!derived) return fields.count_or_class(field, family.head_dim);
  if (config.hidden_size % config.q_num_heads != 0) {
    fields.fail("model_config.contradictory", field,
                fmt::format("is not stated, and the hidden size {} is no multiple of the {} heads",
                            config.hidden_size, config.q_num_heads));
  }
  return config.hidden_size / config.q_num_heads;
}

ElementType dtype_named(const ModelConfigFields& fields, const char* field) {
  const std::string name = *fields.text(field);
  if (name == "float16") return ElementType::binary16;
  if (name == "bfloat16") return ElementType::bfloat16;
  if (name == "float32") return ElementType::binary32;
  if (name == "float64") return ElementType::binary64;
  if (name == "float8_e4m3fn") return ElementType::float8_e4m3fn;
  if (name == "float8_e5m2") return ElementType::float8_e5m2;
  fields.fail("model_config.unknown_dtype", field,
              fmt::format("\"{}\" is not a known element type", printable(name)));
}

// The dtype of one configuration object, under its old name, its new one, or both.
void read_dtype(const ModelConfigFields& fields, ModelConfig& config) {
  for (const char* field : {"dtype", "torch_dtype"}) {
    if (!fields.states(field)) continue;
    const ElementType type = dtype_named(fields, field);
    if (config.dtype && *config.dtype != type) {
      fields.fail("model_config.contradictory", field,
                  fmt::format("says {}, but {} says {}", name(type), config.dtype_field,
                              name(*config.dtype)));
    }
    if (!config.dtype) config.dtype_field = fields.place(field);
    config.dtype = type;
  }
}

// A checkpoint may store its cache in another type than it computes in.
void refuse_stated_cache_type(const ModelConfigFields& fields, ModelConfig& config) {
  if (!fields.states("quantization_config")) return;
  const json& quantization = *fields.find("quantization_config");
  for (const char* field : {"kv_cache_scheme", "kv_cache_quant_algo"}) {
    if (!quantization.is_object() || !quantization.contains(field)) continue;
    if (quantization[field].is_null()) continue;
    config.dtype.reset();
    config.dtype_field = fields.place(fmt::format("quantization_config.{}", field));
  }
}

void read_shape(ModelConfigFields& fields, const ModelFamily& family, ModelConfig& config) {
  config.model_type = family.model_type;
  config.hidden_size = fields.count_or_class(family.names.hidden, family.hidden_size);
  config.q_num_heads = fields.count_or_class(family.names.heads, family.num_attention_heads);
  config.kv_num_heads = read_kv_heads(fields, family, config.q_num_heads);
  config.head_size = read_head_size(fields, family, config);
  constexpr std::int64_t most_layers = 1'000'000;
  const std::int64_t layers = fields.count_or_class(family.names.layers, family.num_hidden_layers);
  if (layers > most_layers) {
    fields.fail("model_config.field_type", family.names.layers, "is beyond a million layers");
  }
  config.layer_windows = read_layer_windows(fields, family, layers);
  config.class_defaults = fields.class_defaults();
}

}  // namespace

ElementType cache_element_type(const ModelConfig& config) {
  if (config.dtype) return *config.dtype;
  throw InputError("model_config.missing_field", config.dtype_field,
                   "does not state one plain element type of the cache; state it by a flag");
}

ModelConfig parse_model_config(std::string_view text, const std::string& where) {
  const json document = parse_json_strictly(text, where);
  if (!document.is_object()) {
    throw InputError("model_config.field_type", where, "does not hold an object");
  }
  ModelConfigFields outer(document, where + ": ", false);
  ModelConfig config;
  config.dtype_field = outer.place("dtype");
  refuse_other_caches(outer);
  if (outer.states("text_config")) {
    const json& nested = *outer.find("text_config");
    if (!nested.is_object()) {
      outer.fail("model_config.field_type", "text_config", "does not hold an object");
    }
    ModelConfigFields inner(nested, where + ": text_config.", true);
    refuse_other_caches(inner);
    read_dtype(inner, config);
    read_dtype(outer, config);
    read_shape(inner, family_of(inner, outer.text("model_type").value_or("")), config);
    refuse_stated_cache_type(inner, config);
  } else {
    read_dtype(outer, config);
    read_shape(outer, family_of(outer, ""), config);
  }
  refuse_stated_cache_type(outer, config);
  return config;
}

ModelConfig read_model_config(const std::filesystem::path& path) {
  const std::filesystem::path file =
      std::filesystem::is_directory(path) ? path / "config.json" : path;
  return parse_model_config(read_text_file(file), file.string());
}

}  // namespace gqa
