// Which layers of a model have a sliding window.
#include <fmt/format.h>

#include "gqa/io/json.hpp"
#include "gqa/io/model_config_fields.hpp"

namespace gqa {
namespace {

using nlohmann::json;
using Sliding = std::vector<bool>;

// What `layer_types` lists; nullopt if there is none.
std::optional<Sliding> listed_layers(const ModelConfigFields& fields, std::int64_t layers) {
  if (!fields.states("layer_types")) return std::nullopt;
  const json& list = *fields.find("layer_types");
  if (!list.is_array()) fields.fail("model_config.field_type", "layer_types", "is not a list");
  if (static_cast<std::int64_t>(list.size()) != layers) {
    fields.fail("model_config.contradictory", "layer_types",
                fmt::format("has {} entries for {} layers", list.size(), layers));
  }
  Sliding sliding;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const bool is_sliding = list[i] == "sliding_attention";
    if (!is_sliding && list[i] != "full_attention") {
      fields.fail("model_config.hybrid", fmt::format("layer_types[{}]", i),
                  fmt::format("{} is not known: what such a layer caches is not counted here",
                              printable(list[i].dump())));
    }
    sliding.push_back(is_sliding);
  }
  return sliding;
}

// Whether a window is in use at all, where a flag of its own says so.
bool window_is_used(const ModelConfigFields& fields) {
  const std::optional<bool> used = fields.flag("use_sliding_window");
  if (used) return *used;
  // The class's own false is taken only where nothing speaks against it.
  if (!fields.nested() && fields.states("sliding_window")) {
    fields.missing("use_sliding_window", "is missing, yet sliding_window is stated");
  }
  return false;
}

Sliding layers_by_rule(ModelConfigFields& fields, const ModelFamily& family, std::int64_t layers) {
  const WindowRule rule = family.window_rule;
  Sliding sliding(static_cast<std::size_t>(layers), true);
  if (rule == WindowRule::listed_if_used) {
    fields.missing("layer_types", "is missing, yet a sliding window is in use");
  }
  if (rule == WindowRule::none) sliding.assign(sliding.size(), false);
  if (rule == WindowRule::alternating) {
    for (std::size_t i = 1; i < sliding.size(); i += 2) sliding[i] = false;
  }
  if (rule == WindowRule::last_layers) {
    const bool none =
        !fields.absent("max_window_layers") && *fields.find("max_window_layers") == json(0);
    const std::int64_t first = none ? 0 : fields.count_or_class("max_window_layers", 28);
    for (std::size_t i = 0; i < sliding.size() && static_cast<std::int64_t>(i) < first; ++i) {
      sliding[i] = false;
    }
  }
  if (rule == WindowRule::pattern) {
    // Newer files keep the older field under a leading underscore.
    const char* field = fields.states("_sliding_window_pattern") ? "_sliding_window_pattern"
                                                                 : "sliding_window_pattern";
    const auto period =
        static_cast<std::size_t>(fields.count_or_class(field, family.window_pattern));
    for (std::size_t i = period - 1; i < sliding.size(); i += period) sliding[i] = false;
  }
  return sliding;
}

// The window's size; nullopt if the file says that there is none.
std::optional<std::int64_t> window_size(ModelConfigFields& fields, const ModelFamily& family) {
  if (fields.is_null("sliding_window")) return std::nullopt;
  if (fields.absent("sliding_window")) {
    const bool class_has_none = !family.sliding_window;
    if (class_has_none) return std::nullopt;
  }
  return fields.count_or_class("sliding_window", family.sliding_window);
}

// Both a list and a rule that could have made it: the list wins in the class, but a file in which
// they differ says two things.
void require_agreement(ModelConfigFields& fields, const ModelFamily& family,
                       const Sliding& listed) {
  const WindowRule rule = family.window_rule;
  const bool rule_is_stated =
      (rule == WindowRule::last_layers && fields.states("max_window_layers")) ||
      (rule == WindowRule::pattern &&
       (fields.states("sliding_window_pattern") || fields.states("_sliding_window_pattern"))) ||
      rule == WindowRule::every_layer || rule == WindowRule::every_layer_if_used;
  if (!rule_is_stated) return;
  if (layers_by_rule(fields, family, static_cast<std::int64_t>(listed.size())) != listed) {
    fields.fail("model_config.contradictory", "layer_types",
                "is not what the other fields say of the layers");
  }
}

bool any(const Sliding& sliding) {
  for (const bool is_sliding : sliding) {
    if (is_sliding) return true;
  }
  return false;
}

std::vector<std::optional<std::int64_t>> windows_of(const Sliding& sliding,
                                                    std::optional<std::int64_t> window) {
  std::vector<std::optional<std::int64_t>> windows;
  for (const bool is_sliding : sliding) {
    windows.push_back(is_sliding ? window : std::nullopt);
  }
  return windows;
}

// The family has no window, or a switch of the file turns it off: nothing may say otherwise.
void require_no_window(const ModelConfigFields& fields, const ModelFamily& family,
                       const std::optional<Sliding>& listed) {
  if (listed && any(*listed)) {
    fields.fail("model_config.contradictory", "layer_types",
                "lists sliding_attention, yet the model has no window in use");
  }
  if (family.window_rule == WindowRule::none && fields.states("sliding_window")) {
    fields.fail("model_config.contradictory", "sliding_window",
                fmt::format("is stated, yet {} models have no window", family.model_type));
  }
}

bool window_is_off(const ModelConfigFields& fields, WindowRule rule) {
  if (rule == WindowRule::none) return true;
  const bool has_switch = rule == WindowRule::last_layers ||
                          rule == WindowRule::every_layer_if_used ||
                          rule == WindowRule::listed_if_used;
  return has_switch && !window_is_used(fields);
}

}  // namespace

std::vector<std::optional<std::int64_t>> read_layer_windows(ModelConfigFields& fields,
                                                            const ModelFamily& family,
                                                            std::int64_t layers) {
  const std::vector<std::optional<std::int64_t>> no_windows(static_cast<std::size_t>(layers));
  const std::optional<Sliding> listed = listed_layers(fields, layers);
  if (window_is_off(fields, family.window_rule)) {
    require_no_window(fields, family, listed);
    return no_windows;
  }
  const std::optional<std::int64_t> window = window_size(fields, family);
  const bool none_listed = listed ? !any(*listed) : family.window_rule == WindowRule::every_layer;
  if (!window && none_listed) return no_windows;
  if (listed) require_agreement(fields, family, *listed);
  const Sliding sliding = listed ? *listed : layers_by_rule(fields, family, layers);
  if (!window && any(sliding)) {
    fields.fail("model_config.contradictory", "sliding_window",
                "is null, yet some layers are sliding_attention");
  }
  return windows_of(sliding, window);
}

}  // namespace gqa
