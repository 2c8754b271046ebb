// gqaverify claims: what people write about grouped-query attention, with verdicts.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "cluster.hpp"
#include "command.hpp"
#include "gqa/error.hpp"
#include "gqa/io/file.hpp"
#include "gqa/io/output_projections.hpp"
#include "gqa/io/recordings.hpp"
#include "gqa/report/claim_report.hpp"
#include "gqa/report/html/pages.hpp"
#include "gqa/theory/claim_list.hpp"
#include "output.hpp"
#include "page_origin_of.hpp"
#include "progress.hpp"
#include "shipped_files.hpp"
#include "taken_words.hpp"

namespace gqa::program {
namespace {

namespace fs = std::filesystem;

struct ClaimsOptions {
  std::vector<std::string> names;
  std::string trained_model;
  std::string certificates;
  OutputFiles files;
};

// --trained-model, or the recordings shipped.
fs::path trained_model_folder(const ClaimsOptions& options) {
  if (!options.trained_model.empty()) return options.trained_model;
  return shipped_files("fixtures/recordings/stories260K");
}

// Recorded layers and what their heads are multiplied by, all of which must be there.
TrainedModel read_trained_model(const fs::path& folder) {
  TrainedModel model;
  fs::path projections = folder / "output_projections.safetensors";
  if (!fs::exists(projections)) projections = folder / "stories260K.bin";
  model.output_projections = read_output_projections(projections);
  for (std::size_t layer = 0; layer < model.output_projections.size(); ++layer) {
    const fs::path path = folder / fmt::format("layer{}.safetensors", layer);
    try {
      const Recording recording = read_recording(path);
      Contract contract = recording.contract;
      contract.causal = true;
      model.layers.push_back(make_problem(recording.tensors, contract));
    } catch (const InputError& error) {
      throw error.within(path.string());
    }
  }
  return model;
}

void write_certificates(const std::vector<ClaimReport>& reports, const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw InputError("file.unwritable", folder.string(), error.message());
  for (const ClaimReport& report : reports) {
    std::size_t number = 0;
    for (const auto& certificate : report.argument.certificates()) {
      const std::string name = fmt::format("claim-{}-{}.json", report.claim->id, ++number);
      write_file_atomically(folder / name, certificate.dump(1) + "\n");
    }
  }
}

ExitStatus run_claims(const ClaimsOptions& options) {
  std::vector<const Claim*> chosen;
  for (const std::string& name : options.names) chosen.push_back(&find_claim(name, "NAME"));
  const bool whole = chosen.empty();
  if (whole) chosen = claims();
  const bool asks_model =
      std::ranges::any_of(chosen, [](const Claim* claim) { return claim->needs_trained_model; });
  TrainedModel model;
  if (asks_model) model = read_trained_model(trained_model_folder(options));
  Progress progress("claims", static_cast<std::int64_t>(chosen.size()));
  std::vector<ClaimReport> reports;
  for (const Claim* claim : chosen) {
    reports.push_back(adjudicate(*claim, asks_model ? &model : nullptr));
    progress.update(static_cast<std::int64_t>(reports.size()));
  }
  if (!options.certificates.empty()) write_certificates(reports, options.certificates);
  write_results(whole ? claim_table(reports) : claim_arguments(reports), claim_json(reports),
                options.files, [&reports] { return claims_html(reports, page_origin({})); });
  return all_settled(reports) ? all_holds : undecided;
}

std::vector<std::string> claim_names() {
  std::vector<std::string> names;
  for (const Claim* claim : claims()) names.emplace_back(claim->id);
  return names;
}

}  // namespace

Command add_claims(CLI::App& program) {
  auto options = std::make_shared<ClaimsOptions>();
  CLI::App* app = program.add_subcommand(
      "claims", "What is said about grouped-query attention: proved, checked or refuted");
  app->footer(
      "Without NAME: the table. Every verdict is computed anew. Claim (gg) is about a trained "
      "model,\n"
      "whose recordings are shipped.\n"
      "Example: gqaverify claims u w y --certificates found && gqaverify check found/*.json");
  app->add_option("NAME", options->names, "Claims such as u or gg: the whole argument of each")
      ->check(offers(claim_names()));
  app->add_option("--trained-model", options->trained_model,
                  "Folder with layer0.safetensors, ... of a trained model and its "
                  "output_projections.safetensors or stories260K.bin; default: the recordings "
                  "shipped, fixtures/recordings/stories260K")
      ->type_name("FOLDER");
  app->add_option("--certificates", options->certificates,
                  "Write each certificate to a file of FOLDER, for gqaverify check")
      ->type_name("FOLDER");
  options->files.add_to(*app);
  return {app, [options](Cluster&) { return run_claims(*options); }};
}

}  // namespace gqa::program
