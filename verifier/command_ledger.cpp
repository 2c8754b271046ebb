// gqaverify ledger: exact bytes of KV caches and parameters of projections.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cluster.hpp"
#include "command.hpp"
#include "decimal_integer.hpp"
#include "gqa/error.hpp"
#include "gqa/io/file.hpp"
#include "gqa/io/model_config.hpp"
#include "gqa/num/rational.hpp"
#include "gqa/report/ledger_report.hpp"
#include "output.hpp"

namespace gqa::program {
namespace {

struct LedgerOptions {
  std::string config;
  std::int64_t layers = 0;
  std::int64_t layers_without_cache = 0;
  std::int64_t q_heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_size = 0;
  std::optional<std::int64_t> value_size;
  std::optional<std::int64_t> hidden_size;
  std::optional<std::int64_t> window;
  std::optional<std::int64_t> windowed_layers;
  std::optional<std::string> type;
  std::optional<std::string> key_type;
  std::optional<std::string> value_type;
  bool pad_blocks = false;
  CacheUse use;
  std::optional<std::int64_t> positions;
  std::optional<std::string> budget;
  std::vector<std::string> expected;
  std::string certificate;
  std::string json;
};

mpz_class exact_count(const std::string& text, const std::string& where) {
  const Rational value = parse_rational(text, where);
  if (value.get_den() != 1) throw InputError("ledger.not_integer", where, "is not an integer");
  return value.get_num();
}

std::optional<StorageFormat> format_of(const std::optional<std::string>& own, const char* own_flag,
                                       const std::optional<std::string>& common) {
  if (own) return parse_storage_format(*own, own_flag);
  if (common) return parse_storage_format(*common, "--type");
  return std::nullopt;
}

StorageFormat required(const std::optional<StorageFormat>& format, const char* flag) {
  if (!format) {
    throw InputError("ledger.missing_flag", flag, "is needed, or --type: no file states a dtype");
  }
  return *format;
}

// Without a file: the shape from flags.
CacheModel stated_model(const LedgerOptions& options) {
  CacheModel model;
  model.q_num_heads = options.q_heads;
  model.kv_num_heads = options.kv_heads;
  model.key_size = options.head_size;
  model.value_size = options.value_size.value_or(options.head_size);
  model.hidden_size = options.hidden_size;
  model.layers_without_cache = options.layers_without_cache;
  const std::int64_t windowed =
      options.window ? options.windowed_layers.value_or(options.layers) : 0;
  if (windowed > options.layers) {
    throw InputError("ledger.too_many_layers", "--windowed-layers",
                     fmt::format("is {}; there are {} layers", windowed, options.layers));
  }
  if (options.layers != windowed) model.layers.push_back({options.layers - windowed, {}});
  if (windowed != 0) model.layers.push_back({windowed, options.window});
  return model;
}

LedgerReport report_for(const LedgerOptions& options) {
  LedgerReport report;
  const auto key_format = format_of(options.key_type, "--key-type", options.type);
  const auto value_format = format_of(options.value_type, "--value-type", options.type);
  const PartialBlock partial = options.pad_blocks ? PartialBlock::pad : PartialBlock::refuse;
  if (options.config.empty()) {
    report.model = stated_model(options);
    report.model.partial_block = partial;
    report.model.key_format = required(key_format, "--key-type");
    report.model.value_format = required(value_format, "--value-type");
  } else {
    const ModelConfig config = read_model_config(options.config);
    report.source = options.config;
    report.model_type = config.model_type;
    report.class_defaults = config.class_defaults;
    report.model = cache_model(config, key_format, value_format, partial);
  }
  report.use = options.use;
  report.use.positions = options.positions.value_or(0);
  report.has_positions = options.positions.has_value();
  if (options.budget) report.budget = exact_count(*options.budget, "--budget");
  validate(report.model);
  validate(report.model, report.use);
  return report;
}

void add_stated_figures(const LedgerOptions& options, LedgerReport& report) {
  for (const std::string& text : options.expected) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      throw InputError("ledger.bad_expectation", "--expect",
                       fmt::format("\"{}\" is not NAME=NUMBER", text));
    }
    const std::string name = text.substr(0, equals);
    const std::string where = "--expect " + name;
    report.stated.push_back(
        {name, exact_count(text.substr(equals + 1), where), ledger_figure(report, name, where)});
  }
}

ExitStatus run_ledger(const LedgerOptions& options) {
  LedgerReport report = report_for(options);
  add_stated_figures(options, report);
  if (!options.certificate.empty()) {
    if (report.use.positions == 0) {
      throw InputError("ledger.no_such_figure", "--certificate", "needs --positions above 0");
    }
    write_file_atomically(options.certificate,
                          certificate_of(report.model, report.use).dump(1) + "\n");
  }
  write_results(ledger_text(report), ledger_json(report), options.json);
  return report.holds() ? all_holds : decided_wrong;
}

// The shape: from a file, or from flags. The two exclude each other.
void add_shape(CLI::App& app, LedgerOptions& options) {
  CLI::Option* config = app.add_option("CONFIG", options.config,
                                       "A model's config.json, or the directory that holds it");
  const auto needed = [&](const char* flag, std::int64_t& value, const char* help) {
    app.add_option(flag, value, help)->check(decimal_integer(true))->excludes(config);
  };
  needed("--layers", options.layers, "Layers with a KV cache");
  needed("--layers-without-cache", options.layers_without_cache, "Other layers of the model");
  needed("--q-heads", options.q_heads, "Query heads");
  needed("--kv-heads", options.kv_heads, "KV heads");
  needed("--head-size", options.head_size, "Elements of one head's key, and of its value");
  app.add_option("--value-size", options.value_size, "Elements of one head's value")
      ->check(decimal_integer(true))
      ->excludes(config);
  app.add_option("--hidden-size", options.hidden_size, "Model width, for the projections")
      ->check(decimal_integer(true))
      ->excludes(config);
  CLI::Option* window =
      app.add_option("--window", options.window, "Positions that a windowed layer keeps")
          ->check(decimal_integer(true))
          ->excludes(config);
  app.add_option("--windowed-layers", options.windowed_layers,
                 "How many layers are windowed (default with --window: all)")
      ->check(decimal_integer(true))
      ->needs(window);
  app.callback([&app, config] {
    if (config->count() > 0) return;
    for (const char* flag : {"--layers", "--q-heads", "--kv-heads", "--head-size"}) {
      if (app.count(flag) == 0) throw CLI::RequiredError(std::string("CONFIG or ") + flag);
    }
  });
}

}  // namespace

Command add_ledger(CLI::App& program) {
  auto options = std::make_shared<LedgerOptions>();
  CLI::App* app = program.add_subcommand(
      "ledger", "Exact bytes of a KV cache and parameters of its projections");
  app->footer(
      "Examples: gqaverify ledger config.json --positions 131072 --batch 4\n"
      "          gqaverify ledger --layers 32 --q-heads 32 --kv-heads 8 --head-size 128\n"
      "            --type float16 --expect bytes_per_position=131072");
  add_shape(*app, *options);
  app->add_option("--type", options->type,
                  "Type of keys and values (default: the file's dtype): float16, bfloat16, "
                  "float8_e4m3fn, int8, q8_0, ... or BYTES/ELEMENTS of a block, such as 34/32");
  app->add_option("--key-type", options->key_type, "Type of the keys alone");
  app->add_option("--value-type", options->value_type, "Type of the values alone");
  app->add_flag("--pad-blocks", options->pad_blocks,
                "A head that is not a whole number of blocks takes whole ones");
  app->add_option("--positions", options->positions, "Positions of each sequence")
      ->check(decimal_integer(true));
  app->add_option("--batch", options->use.batch, "Sequences (default 1)")
      ->check(decimal_integer(true));
  app->add_option("--ranks", options->use.ranks, "Tensor-parallel ranks (default 1)")
      ->check(decimal_integer(true));
  app->add_option("--page-size", options->use.page_size, "Positions of a page (default 1)")
      ->check(decimal_integer(true));
  app->add_option("--budget", options->budget, "How many positions fit in so many bytes per rank");
  app->add_option("--expect", options->expected,
                  "NAME=NUMBER, a figure to be confirmed or refuted, such as bytes_per_position");
  app->add_option("--certificate", options->certificate, "Write the certificate to FILE")
      ->type_name("FILE");
  app->add_option("--json", options->json, "Write JSON to FILE, - for standard output")
      ->type_name("FILE");
  return {app, [options](Cluster&) { return run_ledger(*options); }};
}

}  // namespace gqa::program
