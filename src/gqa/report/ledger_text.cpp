// The byte ledger as text.
#include <fmt/format.h>

#include <algorithm>

#include "gqa/report/integer_json.hpp"
#include "gqa/report/ledger_report.hpp"
#include "gqa/theory/exact_integer.hpp"

namespace gqa {
namespace {

std::string counted_layers(std::int64_t count) {
  return fmt::format("{} layer{}", count, count == 1 ? "" : "s");
}

std::string model_text(const LedgerReport& report) {
  const CacheModel& model = report.model;
  std::string text;
  if (!report.source.empty()) text += fmt::format("{} ({})\n", report.source, report.model_type);
  if (!report.class_defaults.empty()) {
    text += fmt::format("not in the file, from the class of {}: {}\n", report.model_type,
                        fmt::join(report.class_defaults, ", "));
  }
  text += fmt::format("{} query heads on {} KV heads; keys of {} as {}, values of {} as {}\n",
                      model.q_num_heads, model.kv_num_heads, model.key_size, model.key_format.name,
                      model.value_size, model.value_format.name);
  if (model.layers_without_cache > 0) {
    text += fmt::format("{}, {} of them with a KV cache\n",
                        counted_layers(model.cached_layers() + model.layers_without_cache),
                        model.cached_layers());
  }
  return text;
}

std::string per_position_text(const LedgerReport& report) {
  const CacheModel& model = report.model;
  std::string text = fmt::format("per position and layer: {}\nper position: {}\n",
                                 bytes_text(bytes_per_layer_position(model)),
                                 bytes_text(bytes_per_position(model)));
  const mpz_class beyond = bytes_per_position_beyond_windows(model);
  if (beyond != bytes_per_position(model)) {
    text += fmt::format("per position once the windows are full: {}\n", bytes_text(beyond));
  }
  return text;
}

std::string totals_text(const LedgerReport& report) {
  const CacheUse& use = report.use;
  std::string text = fmt::format("{} sequence{} of {} positions", use.batch,
                                 use.batch == 1 ? "" : "s", use.positions);
  if (use.page_size > 1) text += fmt::format(" in pages of {}", use.page_size);
  text += ":\n";
  for (const CacheLayers& like : report.model.layers) {
    const std::string kind =
        like.window ? fmt::format(" with a window of {}", *like.window) : std::string();
    text += fmt::format("  {}{}: {} positions kept, {} each\n", counted_layers(like.count), kind,
                        kept_positions(like, use).get_str(),
                        bytes_text(layer_bytes(report.model, like, use)));
  }
  return text + fmt::format("  in all: {}\n", bytes_text(cache_bytes(report.model, use)));
}

std::string comparison_text(const LedgerReport& report) {
  const mpz_class mine = cache_bytes(report.model, report.use);
  const mpz_class mha =
      cache_bytes(with_kv_heads(report.model, report.model.q_num_heads), report.use);
  const mpz_class mqa = cache_bytes(with_kv_heads(report.model, 1), report.use);
  return fmt::format("  with {} KV heads (MHA): {}; saved: {}\n  with 1 KV head (MQA): {}\n",
                     report.model.q_num_heads, bytes_text(mha), bytes_text(mpz_class(mha - mine)),
                     bytes_text(mqa));
}

// Which KV heads the ranks hold: all of few ranks, the first of many.
std::string ranks_text(const LedgerReport& report) {
  const RankShare share = rank_share(report.model, report.use);
  std::string text = fmt::format("{} ranks, {} KV head{} on each", report.use.ranks,
                                 share.kv_heads_per_rank, share.kv_heads_per_rank == 1 ? "" : "s");
  if (share.replicas > 1) text += fmt::format(", each head on {} ranks", share.replicas);
  constexpr std::int64_t shown = 16;
  text += "; their first KV heads: ";
  for (std::int64_t rank = 0; rank < std::min(report.use.ranks, shown); ++rank) {
    text += fmt::format("{}{}", rank > 0 ? ", " : "", share.first_kv_head(rank));
  }
  text += report.use.ranks > shown ? ", ...\n" : "\n";
  if (!report.has_positions) return text;
  return text + fmt::format("  on each rank: {}; on all: {}\n", bytes_text(share.bytes_per_rank),
                            bytes_text(share.bytes_in_all));
}

std::string parameters_text(const LedgerReport& report) {
  const auto mine = projection_parameters(report.model);
  if (!mine) return {};
  const auto mha = projection_parameters(with_kv_heads(report.model, report.model.q_num_heads));
  return fmt::format(
      "projection parameters of a layer, without biases: {} (query {}, key {}, value {}, output "
      "{}); with {} KV heads: {}\n",
      grouped_digits(mine->total()), grouped_digits(mine->query), grouped_digits(mine->key),
      grouped_digits(mine->value), grouped_digits(mine->output), report.model.q_num_heads,
      grouped_digits(mha->total()));
}

std::string budget_text(const LedgerReport& report) {
  const auto positions = positions_within(report.model, report.use, *report.budget);
  return fmt::format(
      "within {}{}: {}\n", bytes_text(*report.budget), report.use.ranks > 1 ? " on each rank" : "",
      positions ? fmt::format("{} positions of each of {} sequence{}", grouped_digits(*positions),
                              report.use.batch, report.use.batch == 1 ? "" : "s")
                : "any number of positions: every layer has a window");
}

}  // namespace

std::string ledger_text(const LedgerReport& report) {
  std::string text = model_text(report) + per_position_text(report);
  if (report.has_positions) text += totals_text(report) + comparison_text(report);
  if (report.use.ranks > 1) text += ranks_text(report);
  text += parameters_text(report);
  if (report.budget) text += budget_text(report);
  for (const StatedFigure& figure : report.stated) {
    text += figure.holds()
                ? fmt::format("{} = {}: right\n", figure.name, grouped_digits(figure.stated))
                : fmt::format("{} = {}: WRONG, it is {}\n", figure.name,
                              grouped_digits(figure.stated), grouped_digits(figure.exact));
  }
  return text;
}

}  // namespace gqa
