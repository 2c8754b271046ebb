// Configurations of published models of each family, with their caches counted by hand.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "gqa/io/model_config.hpp"
#include "support/errors.hpp"

using namespace gqa;

namespace {

struct Published {
  const char* model;
  const char* config;  // the fields that decide, as the file has them
  std::int64_t kv_heads, head_size, windowed_layers;
  std::int64_t bytes_per_position;  // L x 2 x Hkv x d x bytes, worked out by hand
};

// Read on 2026-11-30; docs/theory.md, "The ledger" says which files are the models' own and which
// are copies of them. The type of a file without one is taken to have 2 bytes below.
const Published published[] = {
    // huggingface.co/prince-canuma/c4ai-command-r-v01-4bit, which names the model
    {"CohereForAI/c4ai-command-r-v01",
     R"({"model_type": "cohere", "hidden_size": 8192, "num_hidden_layers": 40, "torch_dtype":
         "float16", "num_attention_heads": 64, "num_key_value_heads": 64})",
     64, 128, 0, 1'310'720},
    // huggingface.co/huihui-ai/c4ai-command-r7b-12-2024-abliterated, which names the model
    {"CohereForAI/c4ai-command-r7b-12-2024",
     R"({"model_type": "cohere2", "hidden_size": 4096, "num_hidden_layers": 32, "torch_dtype":
         "bfloat16", "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
         "sliding_window": 4096, "sliding_window_pattern": 4, "layer_switch": 4})",
     8, 128, 24, 131'072},
    // huggingface.co/ibm-granite/granite-3.0-2b-instruct, config.json of 342f92f
    {"ibm-granite/granite-3.0-2b-instruct",
     R"({"model_type": "granite", "hidden_size": 2048, "num_hidden_layers": 40, "torch_dtype":
         "bfloat16", "num_attention_heads": 32, "num_key_value_heads": 8})",
     8, 64, 0, 81'920},
    // huggingface.co/allenai/OLMo-2-1124-7B, branch stage2-ingredient3-step11931-tokens50B
    {"allenai/OLMo-2-1124-7B",
     R"({"model_type": "olmo2", "hidden_size": 4096, "num_hidden_layers": 32, "torch_dtype":
         "float32", "num_attention_heads": 32, "num_key_value_heads": 32})",
     32, 128, 0, 1'048'576},
    // huggingface.co/bigcode/starcoder2-3b, config.json of 733247c: no type
    {"bigcode/starcoder2-3b",
     R"({"model_type": "starcoder2", "hidden_size": 3072, "num_hidden_layers": 30,
         "num_attention_heads": 24, "num_key_value_heads": 2, "sliding_window": 4096})",
     2, 128, 30, 30'720},
    // huggingface.co/Qwen/Qwen1.5-MoE-A2.7B, config.json of 9f55e3d
    {"Qwen/Qwen1.5-MoE-A2.7B",
     R"({"model_type": "qwen2_moe", "hidden_size": 2048, "num_hidden_layers": 24, "torch_dtype":
         "bfloat16", "num_attention_heads": 16, "num_key_value_heads": 16, "max_window_layers": 21,
         "sliding_window": 4096, "use_sliding_window": false})",
     16, 128, 0, 196'608},
    // huggingface.co/PKU-Alignment/s1-m_7b_beta, tuned from it;
    // OPEA/Qwen2-VL-7B-Instruct-int4-sym-inc
    {"Qwen/Qwen2-VL-7B-Instruct",
     R"({"model_type": "qwen2_vl", "hidden_size": 3584, "num_hidden_layers": 28, "torch_dtype":
         "bfloat16", "num_attention_heads": 28, "num_key_value_heads": 4, "max_window_layers": 28,
         "sliding_window": 32768, "use_sliding_window": false})",
     4, 128, 0, 57'344},
    // The class's own numbers, which are this model's: configuration_smollm3.py of 008e574
    {"HuggingFaceTB/SmolLM3-3B",
     R"({"model_type": "smollm3", "hidden_size": 2048, "num_hidden_layers": 36, "torch_dtype":
         "bfloat16", "num_attention_heads": 16, "num_key_value_heads": 4, "sliding_window": null,
         "use_sliding_window": false, "max_window_layers": 28})",
     4, 128, 0, 73'728},
    // The class's own numbers, configuration_glm4.py of 008e574; a model tuned from it has them too
    {"THUDM/GLM-4-9B-0414",
     R"({"model_type": "glm4", "hidden_size": 4096, "num_hidden_layers": 40, "dtype":
         "bfloat16", "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128})",
     2, 128, 0, 40'960},
    // huggingface.co/h2oai/h2ogpt-gm-oasst1-multilang-1024-20b, which names the model
    {"EleutherAI/gpt-neox-20b",
     R"({"model_type": "gpt_neox", "hidden_size": 6144, "num_hidden_layers": 44, "torch_dtype":
         "float16", "num_attention_heads": 64})",
     64, 96, 0, 1'081'344},
    // huggingface.co/openai-community/gpt2-large, config.json of 897ad54: no type
    {"openai-community/gpt2-large",
     R"({"model_type": "gpt2", "n_embd": 1280, "n_layer": 36, "n_head": 20, "n_ctx": 1024})", 20,
     64, 0, 184'320},
    // huggingface.co/bigcode/starcoder-co-format, which names the model
    {"bigcode/starcoder",
     R"({"model_type": "gpt_bigcode", "n_embd": 6144, "n_layer": 40, "n_head": 48, "torch_dtype":
         "float16", "multi_query": true})",
     1, 128, 0, 20'480},
    // huggingface.co/tiiuae/falcon-7b-instruct, config.json of cf4b3c4
    {"tiiuae/falcon-7b-instruct",
     R"({"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32, "torch_dtype":
         "bfloat16", "num_attention_heads": 71, "multi_query": true,
         "new_decoder_architecture": false})",
     1, 64, 0, 8'192},
    // huggingface.co/Trelis/falcon-7b-4k-chat-commercial-use: Transformers has written 71 KV heads
    // into it that its multi_query overrules
    {"tiiuae/falcon-7b as written again",
     R"({"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32, "torch_dtype":
         "bfloat16", "num_attention_heads": 71, "multi_query": true, "num_kv_heads": 71,
         "new_decoder_architecture": false})",
     1, 64, 0, 8'192},
    // huggingface.co/tiiuae/falcon-40b, config.json of 4a70170: nothing of multi_query
    {"tiiuae/falcon-40b",
     R"({"model_type": "falcon", "hidden_size": 8192, "num_hidden_layers": 60, "torch_dtype":
         "bfloat16", "num_attention_heads": 128, "num_kv_heads": 8,
         "new_decoder_architecture": true})",
     8, 64, 0, 122'880},
};

}  // namespace

TEST_CASE("model families: published configurations give the caches counted by hand") {
  for (const Published& one : published) {
    CAPTURE(one.model);
    const ModelConfig config = parse_model_config(one.config, "c.json");
    CHECK(config.kv_num_heads == one.kv_heads);
    CHECK(config.head_size == one.head_size);
    std::int64_t windowed = 0;
    for (const auto& window : config.layer_windows) windowed += window ? 1 : 0;
    CHECK(windowed == one.windowed_layers);
    const bool is_wide = config.dtype && cache_element_type(config) == ElementType::binary32;
    const std::int64_t bytes = is_wide ? 4 : 2;
    CHECK(static_cast<std::int64_t>(config.layer_windows.size()) * 2 * config.kv_num_heads *
              config.head_size * bytes ==
          one.bytes_per_position);
  }
}

TEST_CASE("model families: a published file without a type is not taken to have one") {
  std::int64_t silent = 0;
  for (const Published& one : published) {
    const ModelConfig config = parse_model_config(one.config, "c.json");
    if (config.dtype) continue;
    ++silent;
    CAPTURE(one.model);
    CHECK(test::refusal_of([&] { cache_element_type(config); }) ==
          "model_config.missing_field at c.json: dtype");
  }
  CHECK(silent == 2);
}

TEST_CASE("model families: a switch that decides and is not there is missing") {
  const auto refusal = [](const char* config) {
    return test::refusal_of([&] { parse_model_config(config, "c.json"); });
  };
  CHECK(refusal(R"({"model_type": "gpt_bigcode", "n_embd": 6144, "n_layer": 40, "n_head": 48})") ==
        "model_config.missing_field at c.json: multi_query");
  CHECK(refusal(R"({"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32,
                    "num_attention_heads": 71, "multi_query": true})") ==
        "model_config.missing_field at c.json: new_decoder_architecture");
  CHECK(refusal(R"({"model_type": "gpt2", "n_embd": 768, "n_head": 12})") ==
        "model_config.missing_field at c.json: n_layer");
  CHECK(refusal(R"({"model_type": "qwen2_moe", "hidden_size": 2048, "num_hidden_layers": 2,
                    "num_attention_heads": 16, "num_key_value_heads": 16, "sliding_window": 9,
                    "use_sliding_window": true})") ==
        "model_config.missing_field at c.json: layer_types");
}
