// gqaverify pool: what replacing heads by their mean changes.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cluster.hpp"
#include "command.hpp"
#include "decimal_integer.hpp"
#include "gqa/error.hpp"
#include "gqa/exact/json_fields.hpp"
#include "gqa/io/file.hpp"
#include "gqa/io/json.hpp"
#include "gqa/report/pool_report.hpp"
#include "output.hpp"

namespace gqa::program {
namespace {

struct PoolOptions {
  std::string file;
  std::int64_t kv_heads = 1;
  bool causal = false;
  std::int64_t smallest = 0;
  std::string layer;
  std::string certificates;
  std::string json;
};

PoolInput read_input(const PoolOptions& options) {
  PoolInput input = read_pool_input(options.file);
  if (options.layer.empty()) return input;
  const bool inline_object = options.layer.starts_with("{");
  const std::string text = inline_object ? options.layer : read_text_file(options.layer);
  const std::string where = inline_object ? "--layer" : options.layer;
  const nlohmann::json layer = parse_json_strictly(text, where);
  require_moderate_exponents(layer, where);
  declare_layer(input, layer, where);
  return input;
}

void write_certificates(const PoolReport& report, const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw InputError("file.unwritable", folder.string(), error.message());
  for (const GroupDecision& decision : report.histories) {
    const std::string file = fmt::format("batch-{}-kv-{}.json", decision.batch, decision.kv_head);
    write_file_atomically(folder / file, decision.certificate.dump(1) + "\n");
  }
  for (std::size_t g = 0; g < report.weights.size(); ++g) {
    const std::string file = fmt::format("kv-{}.json", g);
    write_file_atomically(folder / file, report.weights[g].certificate.dump(1) + "\n");
  }
}

ExitStatus run_pool(const PoolOptions& options, bool smallest) {
  const PooledPositions positions =
      options.causal ? PooledPositions::every_prefix : PooledPositions::all;
  const PoolReport report = smallest
                                ? smallest_report(options.smallest)
                                : pool_report(read_input(options), options.kv_heads, positions);
  if (!options.certificates.empty()) write_certificates(report, options.certificates);
  write_results(pool_text(report), pool_json(report), options.json);
  return report.holds() ? all_holds : decided_wrong;
}

}  // namespace

Command add_pool(CLI::App& program) {
  auto options = std::make_shared<PoolOptions>();
  CLI::App* app = program.add_subcommand(
      "pool", "Whether replacing heads by their mean changes an output, and how much");
  app->footer(
      "FILE is JSON or .safetensors with key and value ([H, S, size]): are the outputs kept for\n"
      "every query? With key_weight, value_weight and perhaps query_weight ([H, size, D]) and\n"
      "key_bias, value_bias, query_bias ([H, size]): for every input, in a layer without rotary\n"
      "embedding or normalised keys, or in the one that --layer declares? With heads and pooled:\n"
      "is pooled the mean of adjacent heads, or made otherwise?\n"
      "Exit status: 0 nothing is lost, 1 something is.\n"
      "Example: gqaverify pool heads.json --kv-heads 2");
  CLI::Option* file = app->add_option("FILE", options->file, "The heads");
  app->add_option("--kv-heads", options->kv_heads, "KV heads to pool to (default 1)")
      ->check(decimal_integer(true));
  app->add_flag("--causal", options->causal, "At every position, not only over all of them");
  app->add_option("--layer", options->layer,
                  "Of projections: a JSON file, or the object itself, with rotary, query_norm, "
                  "key_norm, norm_epsilon")
      ->type_name("FILE");
  CLI::Option* smallest =
      app->add_option("--smallest", options->smallest,
                      "Instead: the smallest integer counterexamples for up to N query heads")
          ->type_name("N")
          ->check(decimal_integer(true))
          ->excludes(file);
  app->callback([file, smallest] {
    if (file->count() + smallest->count() == 0) throw CLI::RequiredError("FILE or --smallest");
  });
  app->add_option("--certificates", options->certificates, "Write each group's certificate to DIR")
      ->type_name("DIR");
  app->add_option("--json", options->json, "Write JSON to FILE, - for standard output")
      ->type_name("FILE");
  return {app, [options, smallest](Cluster&) { return run_pool(*options, smallest->count() > 0); }};
}

}  // namespace gqa::program
