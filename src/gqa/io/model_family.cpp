#include "gqa/io/model_family.hpp"

#include <algorithm>
#include <array>

namespace gqa {
namespace {

constexpr NullMeans derived = NullMeans::derived;
constexpr NullMeans refused = NullMeans::refused;
constexpr std::nullopt_t none = std::nullopt;
constexpr SizeNames gpt_names{"n_embd", "n_layer", "n_head"};

// Source: configuration_NAME.py of each family in Hugging Face Transformers 4.x and 5.x.
constexpr std::array families{
    ModelFamily{"llama", 32, 4096, 32, none, derived, none, derived, WindowRule::none, none},
    ModelFamily{"mistral", 32, 4096, 32, 8, derived, none, derived, WindowRule::every_layer, 4096},
    ModelFamily{"mixtral", 32, 4096, 32, 8, derived, none, derived, WindowRule::every_layer, none},
    ModelFamily{"qwen2", 32, 4096, 32, 32, derived, none, derived, WindowRule::last_layers, 4096},
    ModelFamily{"qwen3", 32, 4096, 32, 32, derived, 128, refused, WindowRule::last_layers, 4096},
    ModelFamily{"qwen3_moe", 24, 2048, 32, 4, derived, none, derived,
                WindowRule::every_layer_if_used, 4096},
    ModelFamily{"gemma", 28, 3072, 16, 16, refused, 256, refused, WindowRule::none, none},
    ModelFamily{"gemma2", 26, 2304, 8, 4, refused, 256, refused, WindowRule::alternating, 4096},
    ModelFamily{"gemma3_text", 26, 2304, 8, 4, refused, 256, refused, WindowRule::pattern, 4096},
    ModelFamily{"phi3", 32, 3072, 32, none, derived, none, derived, WindowRule::every_layer, none},
    ModelFamily{"gpt_oss", 36, 2880, 64, 8, derived, 64, derived, WindowRule::alternating, 128},
    ModelFamily{"cohere", 40, 8192, 64, none, derived, none, derived, WindowRule::none, none},
    ModelFamily{"cohere2", 40, 8192, 64, none, derived, none, derived, WindowRule::pattern, 4096,
                4},
    ModelFamily{"granite", 32, 4096, 32, none, derived, none, derived, WindowRule::none, none},
    ModelFamily{"olmo", 32, 4096, 32, none, derived, none, derived, WindowRule::none, none},
    ModelFamily{"olmo2", 32, 4096, 32, none, derived, none, derived, WindowRule::none, none},
    ModelFamily{"starcoder2", 30, 3072, 24, 2, refused, none, derived, WindowRule::every_layer,
                none},
    ModelFamily{"qwen2_moe", 24, 2048, 16, 16, derived, none, derived, WindowRule::listed_if_used,
                4096},
    ModelFamily{"qwen2_vl", 80, 8192, 64, 8, derived, none, derived, WindowRule::last_layers, 4096},
    ModelFamily{"qwen2_vl_text", 80, 8192, 64, 8, derived, none, derived, WindowRule::last_layers,
                4096},
    ModelFamily{"smollm3", 36, 2048, 16, 4, derived, none, derived, WindowRule::listed_if_used,
                none},
    ModelFamily{"glm4", 40, 4096, 32, 2, refused, 128, refused, WindowRule::none, none},
    ModelFamily{"gpt_neox", 44, 6144, 64, none, derived, none, derived, WindowRule::none, none},
    ModelFamily{"gpt2", 12, 768, 12, none, derived, none, derived, WindowRule::none, none, 6,
                KvHeadRule::stated, gpt_names},
    ModelFamily{"gpt_bigcode", 12, 768, 12, none, derived, none, derived, WindowRule::none, none, 6,
                KvHeadRule::multi_query, gpt_names},
    ModelFamily{"falcon", 32, 4544, 71, none, derived, none, derived, WindowRule::none, none, 6,
                KvHeadRule::falcon},
};

}  // namespace

const ModelFamily* find_model_family(std::string_view model_type) {
  const auto found = std::find_if(families.begin(), families.end(), [&](const ModelFamily& family) {
    return family.model_type == model_type;
  });
  return found == families.end() ? nullptr : &*found;
}

}  // namespace gqa
