#include "gqa/theory/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gqa/error.hpp"
#include "gqa/theory/certificate_writer.hpp"
#include "gqa/theory/exact_integer.hpp"

namespace gqa {
namespace {

void require_positive(std::int64_t value, const std::string& where) {
  if (value <= 0) {
    throw InputError("ledger.not_positive", where, fmt::format("is {}; must be positive", value));
  }
}

mpz_class head_bytes(const CacheModel& model) {
  return row_bytes(model.key_format, model.key_size, model.partial_block, "key_size") +
         row_bytes(model.value_format, model.value_size, model.partial_block, "value_size");
}

// The number below `unfit` up to which everything fits. Precondition: 0 fits, `unfit` does not.
template <class Fits>
std::int64_t last_fitting(std::int64_t unfit, Fits fits) {
  std::int64_t low = 0, high = unfit;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace

std::int64_t CacheModel::cached_layers() const {
  std::int64_t count = 0;
  for (const CacheLayers& like : layers) count += like.count;
  return count;
}

void validate(const CacheModel& model) {
  require_positive(model.q_num_heads, "q_num_heads");
  require_positive(model.kv_num_heads, "kv_num_heads");
  require_positive(model.key_size, "key_size");
  require_positive(model.value_size, "value_size");
  if (model.hidden_size) require_positive(*model.hidden_size, "hidden_size");
  if (model.q_num_heads % model.kv_num_heads != 0) {
    throw InputError("ledger.heads_not_divisible", "kv_num_heads",
                     fmt::format("{} query heads cannot share {} KV heads evenly",
                                 model.q_num_heads, model.kv_num_heads));
  }
  if (model.layers.empty()) require_positive(0, "layers");
  for (const CacheLayers& like : model.layers) {
    require_positive(like.count, "layers");
    if (like.window) require_positive(*like.window, "window");
  }
  if (model.layers_without_cache < 0) require_positive(-1, "layers_without_cache");
  head_bytes(model);
}

CacheModel cache_model(const ModelConfig& config, const std::optional<StorageFormat>& key_format,
                       const std::optional<StorageFormat>& value_format, PartialBlock partial) {
  CacheModel model;
  model.q_num_heads = config.q_num_heads;
  model.kv_num_heads = config.kv_num_heads;
  model.key_size = config.head_size;
  model.value_size = config.head_size;
  model.hidden_size = config.hidden_size;
  model.partial_block = partial;
  for (const std::optional<std::int64_t>& window : config.layer_windows) {
    const auto like = std::find_if(model.layers.begin(), model.layers.end(),
                                   [&](const CacheLayers& l) { return l.window == window; });
    if (like == model.layers.end()) {
      model.layers.push_back({1, window});
    } else {
      ++like->count;
    }
  }
  const auto format_of = [&config](const std::optional<StorageFormat>& stated) {
    return stated ? *stated : storage_format(cache_element_type(config));
  };
  model.key_format = format_of(key_format);
  model.value_format = format_of(value_format);
  validate(model);
  return model;
}

void validate(const CacheModel& model, const CacheUse& use) {
  require_positive(use.batch, "batch");
  if (use.positions < 0) {
    throw InputError("ledger.not_positive", "positions",
                     fmt::format("is {}; must not be negative", use.positions));
  }
  require_positive(use.ranks, "ranks");
  require_positive(use.page_size, "page_size");
  const bool kv_heads_fit =
      model.kv_num_heads % use.ranks == 0 || use.ranks % model.kv_num_heads == 0;
  if (!kv_heads_fit || model.q_num_heads % use.ranks != 0) {
    throw InputError("ledger.ranks_not_divisible", "ranks",
                     fmt::format("{} query heads on {} KV heads cannot be split over {} ranks "
                                 "evenly, nor each KV head be held by as many ranks",
                                 model.q_num_heads, model.kv_num_heads, use.ranks));
  }
}

mpz_class bytes_per_layer_position(const CacheModel& model) {
  return exact_integer(model.kv_num_heads) * head_bytes(model);
}

mpz_class bytes_per_position(const CacheModel& model) {
  return exact_integer(model.cached_layers()) * bytes_per_layer_position(model);
}

mpz_class bytes_per_position_beyond_windows(const CacheModel& model) {
  mpz_class layers = 0;
  for (const CacheLayers& like : model.layers) {
    if (!like.window) layers += exact_integer(like.count);
  }
  return layers * bytes_per_layer_position(model);
}

mpz_class kept_positions(const CacheLayers& layers, const CacheUse& use) {
  const std::int64_t kept = std::min(use.positions, layers.window.value_or(use.positions));
  const mpz_class page = exact_integer(use.page_size);
  return divide_up(exact_integer(kept), page) * page;
}

mpz_class layer_bytes(const CacheModel& model, const CacheLayers& layers, const CacheUse& use) {
  return exact_integer(use.batch) * kept_positions(layers, use) * bytes_per_layer_position(model);
}

mpz_class cache_bytes(const CacheModel& model, const CacheUse& use) {
  mpz_class bytes = 0;
  for (const CacheLayers& like : model.layers) {
    bytes += exact_integer(like.count) * layer_bytes(model, like, use);
  }
  return bytes;
}

RankShare rank_share(const CacheModel& model, const CacheUse& use) {
  RankShare share;
  share.kv_heads_per_rank = std::max<std::int64_t>(1, model.kv_num_heads / use.ranks);
  share.replicas = std::max<std::int64_t>(1, use.ranks / model.kv_num_heads);
  share.bytes_per_rank = cache_bytes(with_kv_heads(model, share.kv_heads_per_rank), use);
  share.bytes_in_all = exact_integer(use.ranks) * share.bytes_per_rank;
  return share;
}

std::optional<mpz_class> positions_within(const CacheModel& model, const CacheUse& use,
                                          const mpz_class& budget) {
  if (budget < 0) throw InputError("ledger.not_positive", "budget", "is negative");
  const auto fits = [&](std::int64_t positions) {
    CacheUse tried = use;
    tried.positions = positions;
    return rank_share(model, tried).bytes_per_rank <= budget;
  };
  std::int64_t largest_window = 0;
  for (const CacheLayers& like : model.layers) {
    largest_window = std::max(largest_window, like.window.value_or(0));
  }
  // Beyond the windows only the full layers grow, by the same bytes page after page.
  if (!fits(largest_window)) return exact_integer(last_fitting(largest_window, fits));
  if (bytes_per_position_beyond_windows(model) == 0) return std::nullopt;
  CacheUse at_windows = use;
  at_windows.positions = largest_window;
  mpz_class windowed = 0;
  const CacheModel mine = with_kv_heads(model, rank_share(model, use).kv_heads_per_rank);
  for (const CacheLayers& like : model.layers) {
    if (like.window) windowed += exact_integer(like.count) * layer_bytes(mine, like, at_windows);
  }
  const mpz_class page = exact_integer(use.page_size);
  const mpz_class page_bytes =
      exact_integer(use.batch) * page * bytes_per_position_beyond_windows(mine);
  return mpz_class((budget - windowed) / page_bytes * page);
}

nlohmann::ordered_json certificate_of(const CacheModel& model, const CacheUse& use) {
  nlohmann::ordered_json json = new_certificate("byte_ledger");
  json["layers"] = nlohmann::ordered_json::array();
  for (const CacheLayers& like : model.layers) {
    json["layers"].push_back({{"count", like.count}, {"window", nullptr}});
    if (like.window) json["layers"].back()["window"] = *like.window;
  }
  json["batch"] = use.batch;
  json["positions"] = use.positions;
  json["page_size"] = use.page_size;
  json["kv_num_heads"] = model.kv_num_heads;
  json["key_size"] = model.key_size;
  json["value_size"] = model.value_size;
  json["key_block"] = {model.key_format.block_bytes, model.key_format.block_elements};
  json["value_block"] = {model.value_format.block_bytes, model.value_format.block_elements};
  json["bytes_per_position"] = exact_json(Rational(bytes_per_position(model)));
  json["bytes"] = exact_json(Rational(cache_bytes(model, use)));
  return json;
}

CacheModel with_kv_heads(CacheModel model, std::int64_t kv_num_heads) {
  model.kv_num_heads = kv_num_heads;
  return model;
}

std::optional<ProjectionParameters> projection_parameters(const CacheModel& model) {
  if (!model.hidden_size) return std::nullopt;
  const mpz_class hidden = exact_integer(*model.hidden_size);
  const mpz_class query_heads = exact_integer(model.q_num_heads);
  const mpz_class kv_heads = exact_integer(model.kv_num_heads);
  const mpz_class key_size = exact_integer(model.key_size);
  const mpz_class value_size = exact_integer(model.value_size);
  return ProjectionParameters{hidden * query_heads * key_size, hidden * kv_heads * key_size,
                              hidden * kv_heads * value_size, query_heads * value_size * hidden};
}

}  // namespace gqa
