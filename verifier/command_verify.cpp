// gqaverify verify: exact fixtures, with the floating-point cross-check.
#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>

#include "command.hpp"
#include "gqa/error.hpp"
#include "gqa/exact/enumeration_crosscheck.hpp"
#include "gqa/exact/fixture.hpp"
#include "gqa/report/fixture_report.hpp"
#include "gqa/report/html/pages.hpp"
#include "one_case.hpp"
#include "output.hpp"
#include "page_origin_of.hpp"
#include "progress.hpp"
#include "shipped_files.hpp"

namespace gqa::program {
namespace {

struct VerifyOptions {
  std::vector<std::string> paths;
  OutputFiles files;
  bool verbose = false;
};

// What is no fixture is named, and the others are checked all the same.
FixtureReport refused(const std::filesystem::path& path, const InputError& error) {
  FixtureReport report;
  report.path = path.string();
  report.name = path.stem().string();
  report.statement = "could not be read";
  report.malformed = true;
  report.failures.push_back(fmt::format("{} [{}]", error.what(), error.code()));
  return report;
}

FixtureReport checked(const std::filesystem::path& path) {
  FixtureReport report;
  with_errors_of(
      path.string(), [&] { report = check_fixture_file(path); },
      [&](const InputError& error) { report = refused(path, error); });
  return report;
}

std::vector<FixtureReport> check_all(const std::vector<std::filesystem::path>& files) {
  std::vector<FixtureReport> reports(files.size());
  Progress progress("fixtures", static_cast<std::int64_t>(files.size()));
  std::mutex mutex;
  std::int64_t done = 0;
  tbb::parallel_for(std::size_t{0}, files.size(), [&](std::size_t i) {
    reports[i] = checked(files[i]);
    const std::lock_guard lock(mutex);
    progress.update(++done);
  });
  return reports;
}

ExitStatus run_verify(const VerifyOptions& options) {
  const bool shipped = options.paths.empty();
  std::vector<std::filesystem::path> paths(options.paths.begin(), options.paths.end());
  if (shipped) paths.push_back(shipped_files("fixtures/exact"));
  std::vector<std::filesystem::path> files;
  std::vector<FixtureReport> reports;
  std::optional<InputError> first;
  for (const std::filesystem::path& path : paths) {
    with_errors_of(
        path.string(), [&] { std::ranges::copy(find_fixtures({path}), std::back_inserter(files)); },
        [&](const InputError& error) {
          reports.push_back(refused(path, error));
          if (!first) first = error;
        });
  }
  if (files.empty() && first) throw InputError(*first);
  std::ranges::move(check_all(files), std::back_inserter(reports));
  // The 210 cases go through the floats with the shipped fixtures: same layer, same bound.
  std::optional<EnumerationCrossCheck> cases;
  if (shipped) cases = crosscheck_cases(12);
  const FixtureSummary summary = summarise(reports, cases);
  write_results(fixture_text(reports, cases, options.verbose), fixture_json(reports, cases),
                options.files,
                [&] { return fixtures_html(reports, cases, page_origin(options.paths)); });
  if (summary.holds()) return all_holds;
  return summary.malformed > 0 ? bad_input : decided_wrong;
}

}  // namespace

Command add_verify(CLI::App& program) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* app = program.add_subcommand(
      "verify", "Exact fixtures: expected outputs, second engine, floats within derived bounds");
  app->footer(
      "Without PATH: the shipped fixtures, and the 210 cases in floats.\n"
      "Example: gqaverify verify fixtures/exact/two-queries-one-history.json");
  app->add_option("PATH", options->paths, "Fixture files, or directories of them");
  app->add_flag("-v,--verbose", options->verbose, "Print every fixture with its exact outputs");
  options->files.add_to(*app);
  return {app, [options](Cluster&) { return run_verify(*options); }};
}

}  // namespace gqa::program
