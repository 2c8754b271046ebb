// gqaverify rank: generic ranks of a group that shares its history; ranks of recorded groups.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "arguments.hpp"
#include "cluster.hpp"
#include "command.hpp"
#include "decimal_integer.hpp"
#include "gqa/error.hpp"
#include "gqa/io/contract_json.hpp"
#include "gqa/io/file.hpp"
#include "gqa/io/json.hpp"
#include "gqa/io/output_projections.hpp"
#include "gqa/io/recordings.hpp"
#include "gqa/report/html/pages.hpp"
#include "gqa/report/rank_report.hpp"
#include "gqa/theory/rank_certificates.hpp"
#include "output.hpp"
#include "page_origin_of.hpp"
#include "progress.hpp"

namespace gqa::program {
namespace {

struct RankOptions {
  RankConfiguration configuration;
  std::optional<std::int64_t> key_size;  // default: value_size
  std::uint64_t seed = 1;
  std::vector<std::string> recordings;
  StatedContract contract;
  std::string checkpoint;
  std::string certificates;
  OutputFiles files;
};

void write_in_folder(const std::filesystem::path& folder, const std::string& file,
                     const std::string& text) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw InputError("file.unwritable", folder.string(), error.message());
  write_file_atomically(folder / file, text);
}

ExitStatus prove(const RankOptions& options) {
  RankConfiguration configuration = options.configuration;
  configuration.key_size = options.key_size.value_or(configuration.value_size);
  const RankReport report = generic_ranks(configuration, options.seed);
  if (!options.certificates.empty()) {
    for (const auto& [name, certificate] : rank_certificates(configuration, options.seed)) {
      write_in_folder(options.certificates, name + ".json", certificate.dump() + "\n");
    }
  }
  write_results(rank_text(report), rank_json(report), options.files,
                [&] { return rank_html(report, page_origin({})); });
  return report.proved() ? all_holds : undecided;
}

// A file wins over the recording, a flag over both.
void apply(const RankOptions& options, Contract& contract) {
  options.contract.apply(contract);
  if (options.configuration.causal) contract.causal = true;
  if (options.configuration.window) {
    validate_window(options.configuration);
    contract.window = visibility_contract(options.configuration).window;
    contract.window_word.reset();
  }
}

void add_ranks(const Recording& recording, const RankOptions& options,
               const Tensor<double>* output_projection, std::vector<RecordedRanks>& ranks) {
  try {
    Contract contract = recording.contract;
    apply(options, contract);
    ranks.push_back({recording.path,
                     group_ranks(make_problem(recording.tensors, contract), output_projection)});
  } catch (const InputError& error) {
    throw error.within(recording.path);
  }
}

ExitStatus measure(const RankOptions& options) {
  std::vector<std::filesystem::path> paths;
  for (const std::string& path : options.recordings) {
    for (const auto& found : find_recordings(path)) paths.push_back(found);
  }
  std::vector<Tensor<double>> projections;
  if (!options.checkpoint.empty()) {
    projections = read_output_projections(options.checkpoint);
    if (projections.size() != paths.size()) {
      throw InputError("checkpoint.layers", options.checkpoint,
                       fmt::format("has {} layers for {} recordings; give one for each, in order",
                                   projections.size(), paths.size()));
    }
  }
  Progress progress("recordings", static_cast<std::int64_t>(paths.size()));
  std::vector<RecordedRanks> ranks;
  std::int64_t done = 0;
  for (const auto& path : paths) {
    const Tensor<double>* projection =
        projections.empty() ? nullptr : &projections[static_cast<std::size_t>(done)];
    for (const Recording& recording : read_recordings(path)) {
      add_ranks(recording, options, projection, ranks);
    }
    progress.update(++done);
  }
  write_results(rank_text(ranks), rank_json(ranks), options.files,
                [&] { return rank_html(ranks, page_origin(options.recordings)); });
  return certified(ranks) ? all_holds : undecided;
}

// What a group is, for generic ranks; not beside recordings.
void add_group(CLI::App& app, CLI::Option* recording, RankOptions& options) {
  RankConfiguration& c = options.configuration;
  const auto add = [&app, recording](const char* name, auto& value, const char* help) {
    return app.add_option(name, value, help)
        ->type_name("N")
        ->check(decimal_integer(true))
        ->excludes(recording);
  };
  auto* group = add("--group-size", c.group_size, "Query heads on one KV head");
  auto* positions = add("--positions", c.positions, "Positions, of queries and keys alike");
  auto* values = add("--value-size", c.value_size, "Coordinates of a value");
  add("--key-size", options.key_size, "Coordinates of a key; default: as many as a value has");
  add("--model-size", c.model_size, "Coordinates that heads are projected to, and summed in");
  const auto flag = [&app, recording](const char* name, bool& value, const char* help) {
    app.add_flag(name, value, help)->excludes(recording);
  };
  flag("--tied", c.tied, "All heads of the group have one attention pattern");
  flag("--constant-column", c.constant_column, "The last value coordinate is the same everywhere");
  flag("--softmax-reachable", c.softmax_reachable,
       "Witnesses by queries on shared keys, not any row-stochastic pattern");
  app.add_option("--seed", options.seed, "Of the witness")
      ->check(decimal_integer())
      ->capture_default_str()
      ->excludes(recording);
  app.callback([=] {
    if (recording->count() > 0) return;
    for (const CLI::Option* needed : {group, positions, values}) {
      if (needed->count() > 0) continue;
      throw CLI::RequiredError(needed->get_name() + " (or --recording)");
    }
  });
}

}  // namespace

Command add_rank(CLI::App& program) {
  auto options = std::make_shared<RankOptions>();
  CLI::App* app = program.add_subcommand(
      "rank", "Generic ranks of a group that shares its history, proved; ranks of recordings");
  app->footer(
      "Examples: gqaverify rank --group-size 8 --positions 128 --value-size 16\n"
      "          gqaverify rank --group-size 4 --positions 12 --value-size 2 --constant-column\n"
      "          gqaverify rank --causal --recording layer0.safetensors layer1.safetensors");
  auto* recording = app->add_option("--recording", options->recordings,
                                    "Recorded layers: certified ranks of every group")
                        ->type_name("PATH");
  add_group(*app, recording, *options);
  app->add_option("--certificates", options->certificates,
                  "Write a certificate of each witness's rank to DIR, for gqaverify check")
      ->type_name("DIR")
      ->excludes(recording);
  RankConfiguration& c = options->configuration;
  app->add_flag("--causal", c.causal, "Keys up to the query's own position are visible");
  app->add_option("--window", c.window, "Keys j with |i - j| < W are visible")
      ->type_name("W")
      ->check(decimal_integer(true));
  app->add_option("--contract", options->contract.stated,
                  "Of recordings: a JSON file with contract fields, or the JSON object itself")
      ->type_name("FILE")
      ->needs(recording);
  app->add_option(
         "--checkpoint", options->checkpoint,
         "Of recordings, one per layer: a llama2.c model, or a safetensors file with layer0, "
         "..., whose output projections count")
      ->type_name("FILE")
      ->needs(recording);
  options->files.add_to(*app);
  return {app, [options](Cluster&) {
            return options->recordings.empty() ? prove(*options) : measure(*options);
          }};
}

}  // namespace gqa::program
