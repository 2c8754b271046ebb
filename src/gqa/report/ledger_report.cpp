#include "gqa/report/ledger_report.hpp"

#include <fmt/format.h>

#include "gqa/error.hpp"
#include "gqa/report/integer_json.hpp"
#include "gqa/theory/exact_integer.hpp"

namespace gqa {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void no_such_figure(const std::string& where, const char* needs) {
  throw InputError("ledger.no_such_figure", where, fmt::format("needs {}", needs));
}

mpz_class all_parameters(const LedgerReport& report, const ProjectionParameters& per_layer) {
  return exact_integer(report.model.cached_layers()) * per_layer.total();
}

mpz_class saved_bytes(const LedgerReport& report) {
  const CacheModel mha = with_kv_heads(report.model, report.model.q_num_heads);
  return cache_bytes(mha, report.use) - cache_bytes(report.model, report.use);
}

// Figures that need positions.
std::optional<mpz_class> total_figure(const LedgerReport& report, const std::string& name) {
  if (name == "bytes") return cache_bytes(report.model, report.use);
  if (name == "bytes_saved") return saved_bytes(report);
  if (name == "bytes_per_rank") return rank_share(report.model, report.use).bytes_per_rank;
  if (name == "bytes_in_all_ranks") return rank_share(report.model, report.use).bytes_in_all;
  return std::nullopt;
}

Json format_json(const StorageFormat& format) {
  return {{"name", format.name},
          {"block_elements", format.block_elements},
          {"block_bytes", format.block_bytes}};
}

Json model_json(const LedgerReport& report) {
  const CacheModel& model = report.model;
  Json json;
  json["q_num_heads"] = model.q_num_heads;
  json["kv_num_heads"] = model.kv_num_heads;
  json["key_size"] = model.key_size;
  json["value_size"] = model.value_size;
  json["hidden_size"] = model.hidden_size ? Json(*model.hidden_size) : Json(nullptr);
  json["layers"] = model.cached_layers() + model.layers_without_cache;
  json["layers_with_cache"] = model.cached_layers();
  json["key_format"] = format_json(model.key_format);
  json["value_format"] = format_json(model.value_format);
  json["partial_block"] = model.partial_block == PartialBlock::pad ? "pad" : "refuse";
  return json;
}

Json layers_json(const LedgerReport& report) {
  Json list = Json::array();
  for (const CacheLayers& like : report.model.layers) {
    Json entry;
    entry["count"] = like.count;
    entry["window"] = like.window ? Json(*like.window) : Json(nullptr);
    if (report.has_positions) {
      entry["kept_positions"] = integer_json(kept_positions(like, report.use));
      entry["bytes_each"] = integer_json(layer_bytes(report.model, like, report.use));
    }
    list.push_back(std::move(entry));
  }
  return list;
}

Json ranks_json(const LedgerReport& report) {
  const RankShare share = rank_share(report.model, report.use);
  Json json;
  json["ranks"] = report.use.ranks;
  json["kv_heads_per_rank"] = share.kv_heads_per_rank;
  json["replicas"] = share.replicas;
  if (report.has_positions) {
    json["bytes_per_rank"] = integer_json(share.bytes_per_rank);
    json["bytes_in_all_ranks"] = integer_json(share.bytes_in_all);
  }
  return json;
}

Json comparison_json(const LedgerReport& report) {
  Json list = Json::array();
  for (const auto& [name, heads] :
       {std::pair{"mha", report.model.q_num_heads}, std::pair{"gqa", report.model.kv_num_heads},
        std::pair{"mqa", std::int64_t{1}}}) {
    const CacheModel other = with_kv_heads(report.model, heads);
    Json entry{{"name", name}, {"kv_num_heads", heads}};
    entry["bytes_per_position"] = integer_json(bytes_per_position(other));
    if (report.has_positions) entry["bytes"] = integer_json(cache_bytes(other, report.use));
    if (const auto parameters = projection_parameters(other)) {
      entry["parameters_per_layer"] = integer_json(parameters->total());
    }
    list.push_back(std::move(entry));
  }
  return list;
}

Json parameters_json(const LedgerReport& report) {
  const auto parameters = projection_parameters(report.model);
  if (!parameters) return nullptr;
  return {{"query", integer_json(parameters->query)},
          {"key", integer_json(parameters->key)},
          {"value", integer_json(parameters->value)},
          {"output", integer_json(parameters->output)},
          {"per_layer", integer_json(parameters->total())},
          {"in_all", integer_json(all_parameters(report, *parameters))}};
}

Json budget_json(const LedgerReport& report) {
  const auto positions = positions_within(report.model, report.use, *report.budget);
  return {{"bytes_per_rank", integer_json(*report.budget)},
          {"positions", positions ? integer_json(*positions) : Json("unbounded")}};
}

}  // namespace

bool LedgerReport::holds() const {
  for (const StatedFigure& figure : stated) {
    if (!figure.holds()) return false;
  }
  return true;
}

mpz_class ledger_figure(const LedgerReport& report, const std::string& name,
                        const std::string& where) {
  if (name == "bytes_per_layer_position") return bytes_per_layer_position(report.model);
  if (name == "bytes_per_position") return bytes_per_position(report.model);
  if (name == "bytes_per_position_beyond_windows") {
    return bytes_per_position_beyond_windows(report.model);
  }
  if (name == "parameters" || name == "parameters_per_layer") {
    const auto parameters = projection_parameters(report.model);
    if (!parameters) no_such_figure(where, "the hidden size");
    return name == "parameters" ? all_parameters(report, *parameters) : parameters->total();
  }
  if (name == "positions") {
    if (!report.budget) no_such_figure(where, "a budget");
    const auto positions = positions_within(report.model, report.use, *report.budget);
    if (!positions) no_such_figure(where, "a layer without a window: any number fits");
    return *positions;
  }
  const std::optional<mpz_class> total = total_figure(report, name);
  if (!total) {
    throw InputError("ledger.unknown_figure", where, fmt::format("\"{}\" is no figure", name));
  }
  if (!report.has_positions) no_such_figure(where, "the number of positions");
  return *total;
}

Json ledger_json(const LedgerReport& report) {
  Json json;
  json["schema"] = "gqaverify.ledger/1";
  json["source"] = report.source.empty() ? Json(nullptr) : Json(report.source);
  json["model_type"] = report.model_type.empty() ? Json(nullptr) : Json(report.model_type);
  json["class_defaults"] = report.class_defaults;
  json["model"] = model_json(report);
  json["bytes_per_layer_position"] = integer_json(bytes_per_layer_position(report.model));
  json["bytes_per_position"] = integer_json(bytes_per_position(report.model));
  json["bytes_per_position_beyond_windows"] =
      integer_json(bytes_per_position_beyond_windows(report.model));
  json["use"] = {{"batch", report.use.batch},
                 {"positions", report.has_positions ? Json(report.use.positions) : Json(nullptr)},
                 {"page_size", report.use.page_size}};
  json["layers"] = layers_json(report);
  if (report.has_positions) {
    json["bytes"] = integer_json(cache_bytes(report.model, report.use));
    json["bytes_saved"] = integer_json(saved_bytes(report));
  }
  json["tensor_parallel"] = ranks_json(report);
  json["comparison"] = comparison_json(report);
  json["parameters"] = parameters_json(report);
  if (report.budget) json["budget"] = budget_json(report);
  json["stated"] = Json::array();
  for (const StatedFigure& figure : report.stated) {
    json["stated"].push_back({{"name", figure.name},
                              {"stated", integer_json(figure.stated)},
                              {"exact", integer_json(figure.exact)},
                              {"holds", figure.holds()}});
  }
  return json;
}

}  // namespace gqa
