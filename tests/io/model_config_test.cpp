#include "gqa/io/model_config.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "gqa/error.hpp"
#include "support/errors.hpp"

using namespace gqa;
using nlohmann::json;

namespace {

using Windows = std::vector<std::optional<std::int64_t>>;

ModelConfig parsed(const json& document) {
  return parse_model_config(document.dump(), "c.json");
}

std::string refusal(const json& document) {
  return test::refusal_of([&] { parsed(document); });
}

// The fields that decide, as the files of the named public models have them.
json llama() {  // Llama-3-8B
  return json::parse(R"({"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
    "num_hidden_layers": 32, "num_key_value_heads": 8, "torch_dtype": "bfloat16"})");
}
json qwen3() {  // Qwen3-32B
  return json::parse(R"({"model_type": "qwen3", "hidden_size": 5120, "num_attention_heads": 64,
    "num_hidden_layers": 64, "num_key_value_heads": 8, "head_dim": 128, "sliding_window": null,
    "use_sliding_window": false, "max_window_layers": 64, "torch_dtype": "bfloat16"})");
}
json gpt_oss() {  // gpt-oss-20b; layer_types is as long as there are layers
  json document = json::parse(R"({"model_type": "gpt_oss", "hidden_size": 2880, "head_dim": 64,
    "num_attention_heads": 64, "num_hidden_layers": 24, "num_key_value_heads": 8,
    "sliding_window": 128, "layer_types": []})");
  for (int layer = 0; layer < 24; ++layer) {
    document["layer_types"].push_back(layer % 2 == 0 ? "sliding_attention" : "full_attention");
  }
  return document;
}
json gemma3() {  // gemma-3-4b: the nested configuration leaves out what its class says
  return json::parse(R"({"model_type": "gemma3", "torch_dtype": "bfloat16",
    "text_config": {"hidden_size": 2560, "model_type": "gemma3_text", "num_hidden_layers": 34,
      "sliding_window": 1024}, "vision_config": {"num_attention_heads": 16}})");
}
json qwen2(bool windowed) {
  return {{"model_type", "qwen2"},          {"hidden_size", 896},     {"num_attention_heads", 14},
          {"num_key_value_heads", 2},       {"num_hidden_layers", 4}, {"sliding_window", 100},
          {"use_sliding_window", windowed}, {"max_window_layers", 3}, {"torch_dtype", "float16"}};
}
json with(json document, const char* field, json value) {
  document[field] = std::move(value);
  return document;
}
json without(json document, const char* field) {
  document.erase(field);
  return document;
}

}  // namespace

TEST_CASE("model config: Llama-3-8B derives its head size from the hidden size") {
  const ModelConfig config = parsed(llama());
  CHECK(config.head_size == 128);
  CHECK(config.q_num_heads == 32);
  CHECK(config.kv_num_heads == 8);
  CHECK(config.layer_windows == Windows(32, std::nullopt));
  CHECK(config.dtype == ElementType::bfloat16);
  CHECK(config.class_defaults.empty());
  CHECK(parsed(with(llama(), "head_dim", nullptr)).head_size == 128);
}

TEST_CASE("model config: an explicit head size wins over hidden_size / num_attention_heads") {
  CHECK(parsed(qwen3()).head_size == 128);
  CHECK(parsed(qwen3()).hidden_size == 5120);
  const json mistral_small = json::parse(R"({"model_type": "mistral", "hidden_size": 5120,
    "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 40, "head_dim": 128,
    "sliding_window": null, "torch_dtype": "bfloat16"})");
  CHECK(parsed(mistral_small).head_size == 128);
  CHECK(parsed(mistral_small).layer_windows == Windows(40, std::nullopt));
  CHECK(parsed(gpt_oss()).head_size == 64);
}

TEST_CASE("model config: no KV head count means as many as query heads, where the class says so") {
  CHECK(parsed(without(llama(), "num_key_value_heads")).kv_num_heads == 32);
  CHECK(parsed(with(llama(), "num_key_value_heads", nullptr)).kv_num_heads == 32);
  CHECK(parsed(with(qwen3(), "num_key_value_heads", nullptr)).kv_num_heads == 64);
  CHECK(refusal(without(qwen3(), "num_key_value_heads")) ==
        "model_config.missing_field at c.json: num_key_value_heads");
}

TEST_CASE("model config: gpt-oss alternates windows of 128, listed or not") {
  const ModelConfig config = parsed(gpt_oss());
  REQUIRE(config.layer_windows.size() == 24);
  for (std::size_t i = 0; i < 24; ++i) {
    CHECK(config.layer_windows[i] ==
          (i % 2 == 0 ? std::optional<std::int64_t>(128) : std::nullopt));
  }
  CHECK(parsed(without(gpt_oss(), "layer_types")).layer_windows == config.layer_windows);
  CHECK_FALSE(config.dtype.has_value());
  CHECK(test::refusal_of([&] { cache_element_type(config); }) ==
        "model_config.missing_field at c.json: dtype");
}

TEST_CASE("model config: what a nested Gemma 3 leaves out comes from its class and is listed") {
  const ModelConfig config = parsed(gemma3());
  CHECK(config.model_type == "gemma3_text");
  CHECK(config.q_num_heads == 8);
  CHECK(config.kv_num_heads == 4);
  CHECK(config.head_size == 256);
  CHECK(config.dtype == ElementType::bfloat16);
  CHECK(config.class_defaults ==
        std::vector<std::string>{"num_attention_heads = 8", "num_key_value_heads = 4",
                                 "head_dim = 256", "sliding_window_pattern = 6"});
  for (std::size_t i = 0; i < 34; ++i) {
    const bool full = i % 6 == 5;
    CHECK(config.layer_windows[i] == (full ? std::nullopt : std::optional<std::int64_t>(1024)));
  }
}

TEST_CASE("model config: the same Gemma 3 outermost has these fields missing") {
  json text = gemma3()["text_config"];
  CHECK(refusal(text) == "model_config.missing_field at c.json: num_attention_heads");
  text["num_attention_heads"] = 8;
  CHECK(refusal(text) == "model_config.missing_field at c.json: num_key_value_heads");
  text["num_key_value_heads"] = 4;
  CHECK(refusal(text) == "model_config.missing_field at c.json: head_dim");
  text["head_dim"] = 256;
  CHECK(refusal(text) == "model_config.missing_field at c.json: sliding_window_pattern");
  text["sliding_window_pattern"] = 6;
  CHECK(parsed(text).layer_windows == parsed(gemma3()).layer_windows);
}

TEST_CASE("model config: Qwen2 windows its last layers, and only if it says so") {
  CHECK(parsed(qwen2(false)).layer_windows == Windows(4, std::nullopt));
  CHECK(parsed(qwen2(true)).layer_windows == Windows{{}, {}, {}, 100});
  CHECK(parsed(with(qwen2(true), "max_window_layers", 0)).layer_windows == Windows(4, 100));
  CHECK(parsed(with(qwen2(true), "max_window_layers", 9)).layer_windows ==
        Windows(4, std::nullopt));
  CHECK(refusal(without(qwen2(true), "use_sliding_window")) ==
        "model_config.missing_field at c.json: use_sliding_window");
  CHECK(refusal(without(qwen2(true), "max_window_layers")) ==
        "model_config.missing_field at c.json: max_window_layers");
  CHECK(refusal(with(qwen2(true), "sliding_window", nullptr)) ==
        "model_config.contradictory at c.json: sliding_window");
  CHECK(refusal(with(qwen2(true), "use_sliding_window", 1)) ==
        "model_config.field_type at c.json: use_sliding_window");
}

TEST_CASE("model config: Mistral, Phi-3, Gemma 2 and Mixtral have the windows of their classes") {
  json mistral = with(llama(), "model_type", "mistral");
  CHECK(refusal(mistral) == "model_config.missing_field at c.json: sliding_window");
  CHECK(parsed(with(mistral, "sliding_window", 4096)).layer_windows == Windows(32, 4096));
  CHECK(parsed(with(mistral, "sliding_window", nullptr)).layer_windows ==
        Windows(32, std::nullopt));
  const json phi3 = with(llama(), "model_type", "phi3");
  CHECK(parsed(phi3).layer_windows == Windows(32, std::nullopt));
  CHECK(parsed(with(phi3, "sliding_window", 2047)).layer_windows == Windows(32, 2047));
  CHECK(parsed(with(llama(), "model_type", "mixtral")).layer_windows == Windows(32, std::nullopt));
  json gemma2 = with(with(llama(), "model_type", "gemma2"), "head_dim", 256);
  gemma2["num_hidden_layers"] = 3;
  gemma2["sliding_window"] = 4096;
  CHECK(parsed(gemma2).layer_windows == Windows{4096, {}, 4096});
}

TEST_CASE("model config: fields that contradict each other are refused at the field") {
  CHECK(refusal(with(llama(), "num_key_value_heads", 5)) ==
        "model_config.contradictory at c.json: num_key_value_heads");
  CHECK(refusal(with(llama(), "hidden_size", 4100)) ==
        "model_config.contradictory at c.json: head_dim");
  CHECK(refusal(with(llama(), "sliding_window", 128)) ==
        "model_config.contradictory at c.json: sliding_window");
  CHECK(refusal(with(llama(), "dtype", "float16")) ==
        "model_config.contradictory at c.json: torch_dtype");
  CHECK(refusal(with(gpt_oss(), "num_hidden_layers", 23)) ==
        "model_config.contradictory at c.json: layer_types");
  CHECK(refusal(with(gpt_oss(), "sliding_window", nullptr)) ==
        "model_config.contradictory at c.json: sliding_window");
  json gemma = gemma3();
  gemma["text_config"]["dtype"] = "float32";
  CHECK(refusal(gemma) == "model_config.contradictory at c.json: torch_dtype");
  json listed = qwen2(true);
  listed["layer_types"] = {"sliding_attention", "full_attention", "full_attention",
                           "sliding_attention"};
  CHECK(refusal(listed) == "model_config.contradictory at c.json: layer_types");
  listed["use_sliding_window"] = false;
  CHECK(refusal(listed) == "model_config.contradictory at c.json: layer_types");
  CHECK(parsed(without(with(listed, "use_sliding_window", true), "max_window_layers"))
            .layer_windows == Windows{100, {}, {}, 100});
}

TEST_CASE("model config: latent attention, hybrids and unknown architectures are refused by name") {
  CHECK(refusal(with(with(llama(), "model_type", "deepseek_v3"), "kv_lora_rank", 512)) ==
        "model_config.latent_attention at c.json: kv_lora_rank");
  CHECK(refusal(with(llama(), "model_type", "some_new_model")) ==
        "model_config.unknown_architecture at c.json: model_type");
  CHECK(refusal(without(llama(), "model_type")) ==
        "model_config.missing_field at c.json: model_type");
  CHECK(refusal(with(llama(), "layers_block_type", {"mamba", "attention"})) ==
        "model_config.hybrid at c.json: layers_block_type");
  CHECK(refusal(with(llama(), "full_attention_interval", 4)) ==
        "model_config.hybrid at c.json: full_attention_interval");
  json linear = gpt_oss();
  linear["layer_types"][3] = "linear_attention";
  CHECK(refusal(linear) == "model_config.hybrid at c.json: layer_types[3]");
  json nested = gemma3();
  nested["text_config"]["num_kv_shared_layers"] = 10;
  CHECK(refusal(nested) == "model_config.hybrid at c.json: text_config.num_kv_shared_layers");
  nested["text_config"].erase("num_kv_shared_layers");
  nested["text_config"]["model_type"] = "gemma9";
  CHECK(refusal(nested) == "model_config.unknown_architecture at c.json: text_config.model_type");
}

TEST_CASE("model config: wrong types and counts are refused at the field") {
  for (const char* field : {"hidden_size", "num_attention_heads", "num_hidden_layers"}) {
    const std::string place = std::string(" at c.json: ") + field;
    CAPTURE(field);
    CHECK(refusal(without(llama(), field)) == "model_config.missing_field" + place);
    CHECK(refusal(with(llama(), field, 0)) == "model_config.not_positive" + place);
    CHECK(refusal(with(llama(), field, -4)) == "model_config.not_positive" + place);
    for (const json& wrong : {json("32"), json(32.0), json(nullptr), json(true), json({32}),
                              json(18446744073709551615ULL)}) {
      CAPTURE(wrong);
      CHECK(refusal(with(llama(), field, wrong)) == "model_config.field_type" + place);
    }
  }
  CHECK(refusal(with(llama(), "num_key_value_heads", {8, 8})) ==
        "model_config.field_type at c.json: num_key_value_heads");
  CHECK(refusal(with(gpt_oss(), "layer_types", "full_attention")) ==
        "model_config.field_type at c.json: layer_types");
  CHECK(refusal(with(gemma3(), "text_config", 7)) ==
        "model_config.field_type at c.json: text_config");
  CHECK(refusal(with(llama(), "torch_dtype", "float12")) ==
        "model_config.unknown_dtype at c.json: torch_dtype");
  CHECK(refusal(json::array()) == "model_config.field_type at c.json");
  CHECK(test::refusal_of([] { parse_model_config("{", "c.json"); }) == "json.syntax at c.json");
  CHECK(test::refusal_of([] { read_model_config("/nonexistent/config.json"); }) ==
        "file.not_found at /nonexistent/config.json");
}

TEST_CASE("model config: a quantised cache has no plain element type") {
  const ModelConfig config =
      parsed(with(llama(), "quantization_config", {{"kv_cache_scheme", {{"num_bits", 8}}}}));
  CHECK_FALSE(config.dtype.has_value());
  CHECK(test::refusal_of([&] { cache_element_type(config); }) ==
        "model_config.missing_field at c.json: quantization_config.kv_cache_scheme");
  CHECK(parsed(with(llama(), "quantization_config", {{"kv_cache_scheme", nullptr}})).dtype ==
        ElementType::bfloat16);
}
