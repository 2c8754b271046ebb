// gqaverify compare: two reports of the same audits.
#include <cmath>
#include <memory>

#include "cluster.hpp"
#include "command.hpp"
#include "gqa/io/file.hpp"
#include "gqa/io/json.hpp"
#include "gqa/report/audit_comparison.hpp"
#include "output.hpp"

namespace gqa::program {
namespace {

struct CompareOptions {
  std::string before;
  std::string after;
  double share_growth = 0.1;
  std::string json;
};

ExitStatus run_compare(const CompareOptions& options) {
  const auto read = [](const std::string& path) {
    return parse_json_strictly(read_text_file(path), path);
  };
  const AuditComparison comparison =
      compare_audits(read(options.before), options.before, read(options.after), options.after,
                     options.share_growth);
  write_results(comparison_text(comparison), comparison_json(comparison), options.json);
  return comparison.has_regression() ? decided_wrong : all_holds;
}

}  // namespace

Command add_compare(CLI::App& program) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* app = program.add_subcommand(
      "compare", "Compares two reports of the same audits: what passed and does not any more");
  app->footer(
      "Exit status 1: a case or output is worse, gone, or new and not passed, or uses more of what "
      "is\n"
      "allowed by more than --share-growth.\n"
      "Example: gqaverify compare last.json now.json");
  app->add_option("OLD", options->before, "JSON of gqaverify audit --json, from before")
      ->required();
  app->add_option("NEW", options->after, "The same, from now")->required();
  app->add_option("--share-growth", options->share_growth,
                  "How much more of its allowance a passing output may use: 0.1 is a tenth of it")
      ->type_name("X")
      ->check([](const std::string& word) {
        double value = 0;
        const bool is_number = CLI::detail::lexical_cast(word, value);
        return is_number && value >= 0 && std::isfinite(value) ? std::string()
                                                               : "not a number of 0 or more";
      })
      ->capture_default_str();
  app->add_option("--json", options->json, "Write JSON to FILE, - for standard output")
      ->type_name("FILE");
  return {app, [options](Cluster&) { return run_compare(*options); }};
}

}  // namespace gqa::program
