// gqaverify enumerate: grouped lookup against consecutive expansion.
#include <tbb/global_control.h>

#include <chrono>
#include <memory>

#include "command.hpp"
#include "gqa/report/enumeration_report.hpp"
#include "gqa/report/html/pages.hpp"
#include "output.hpp"
#include "page_origin_of.hpp"
#include "progress.hpp"
#include "taken_words.hpp"

namespace gqa::program {
namespace {

struct EnumerateOptions {
  std::int64_t max_heads = 12;
  std::string engine = "gmp";
  std::size_t threads = 0;
  OutputFiles files;
};

ExitStatus run_enumerate(const EnumerateOptions& options) {
  std::optional<tbb::global_control> limit;
  if (options.threads > 0) {
    limit.emplace(tbb::global_control::max_allowed_parallelism, options.threads);
  }
  const Engine engine = options.engine == "gmp" ? Engine::gmp : Engine::boost;
  Progress progress("cases",
                    static_cast<std::int64_t>(options.max_heads > 0 && options.max_heads <= 512
                                                  ? enumeration_cases(options.max_heads).size()
                                                  : 0));
  const auto start = std::chrono::steady_clock::now();
  const EnumerationResult result = enumerate_cases(
      options.max_heads, engine, [&progress](std::int64_t done) { progress.update(done); });
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const EnumerationReport report{result, options.engine, seconds};
  write_results(enumeration_text(report), enumeration_json(report), options.files,
                [&] { return enumeration_html(result, options.engine, page_origin({})); });
  return result.holds() ? all_holds : decided_wrong;
}

}  // namespace

Command add_enumerate(CLI::App& program) {
  auto options = std::make_shared<EnumerateOptions>();
  CLI::App* app = program.add_subcommand(
      "enumerate", "Every head count, every divisor, six weight fixtures: exact equality");
  app->footer("Example: gqaverify enumerate --engine boost");
  app->add_option("--max-heads", options->max_heads, "Largest Hq, up to 512")
      ->check(integer_between(1, 512))
      ->capture_default_str();
  app->add_option("--engine", options->engine, "Exact arithmetic")
      ->type_name("NAME")
      ->transform(one_of({"gmp", "boost"}))
      ->capture_default_str();
  app->add_option("--threads", options->threads, "Threads; 0: as many as there are cores")
      ->check(integer_between(0, 1024))
      ->capture_default_str();
  options->files.add_to(*app);
  return {app, [options](Cluster&) { return run_enumerate(*options); }};
}

}  // namespace gqa::program
