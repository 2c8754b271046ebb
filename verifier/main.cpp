// The gqaverify program: arguments and exit status, no mathematics.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>

#include "blas_kernels.hpp"
#include "cluster.hpp"
#include "command.hpp"
#include "descriptors.hpp"
#include "gqa/error.hpp"
#include "gqa/num/limb_pool.hpp"
#include "gqa/printable.hpp"
#include "gqa/version.hpp"
#include "help_format.hpp"
#include "output.hpp"
#include "output_paths.hpp"
#include "page_origin_of.hpp"
#include "usage_message.hpp"

namespace gqa::program {
namespace {

constexpr const char* footer =
    "\"gqaverify help COMMAND\" says what a command takes, with examples.\n"
    "Exit status: 0 everything asked for holds; 1 something was decided to be wrong;\n"
    "2 something could not be decided; 3 bad input; 64 wrong usage; 70 internal error.";

void complain(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

// On the commands that do something: those of a command that has its own.
void add_quiet(CLI::App& app, bool& quiet) {
  const auto below = app.get_subcommands([](const CLI::App*) { return true; });
  for (CLI::App* command : below) add_quiet(*command, quiet);
  if (!below.empty()) return;
  app.add_flag("-q,--quiet", quiet,
               "Nothing on standard output: the exit status and the reports asked for say it");
}

ExitStatus run(int argc, char** argv, Cluster& cluster) {
  CLI::App program("Decides exactly whether grouped-query attention was computed correctly.",
                   "gqaverify");
  program.set_version_flag("--version", version);
  program.require_subcommand(1);
  program.formatter(std::make_shared<HelpFormat>());
  program.footer(footer);
  const std::array commands{add_enumerate(program), add_verify(program),  add_audit(program),
                            add_identify(program),  add_probe(program),   add_ledger(program),
                            add_check(program),     add_compare(program), add_attain(program),
                            add_pool(program),      add_rank(program),    add_claims(program),
                            add_faults(program),    add_generate(program)};
  bool quiet = false;
  for (const Command& command : commands) add_quiet(*command.app, quiet);
  const Words written(argv + std::min(argc, 1), argv + argc);
  if (const auto unknown = unknown_help(program, written)) {
    if (cluster.is_first()) complain(*unknown);
    return wrong_usage;
  }
  const Words words = without_help_command(written);
  remember_command(written);
  try {
    program.parse(Words(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      if (cluster.is_first()) program.exit(error);
      return all_holds;
    }
    if (cluster.is_first()) complain(usage_message(program, words, error));
    return wrong_usage;
  }
  if (const auto misplaced = misplaced_value(program, words)) {
    if (cluster.is_first()) complain(*misplaced);
    return wrong_usage;
  }
  for (const Command& command : commands) {
    if (!command.app->parsed()) continue;
    if (quiet) be_quiet();
    if (cluster.is_first()) check_outputs(*command.app);
    return command.shared || cluster.is_first() ? command.run(cluster) : all_holds;
  }
  return wrong_usage;
}

// Whatever happens, as an ending.
Ending ending_of(const std::function<Ending()>& work) {
  try {
    return work();
  } catch (const InputError& error) {
    return {bad_input, fmt::format("{} [{}]", error.what(), error.code())};
  } catch (const std::bad_alloc&) {
    return {internal_error, "out of memory"};
  } catch (const std::exception& error) {
    return {internal_error, fmt::format("internal error: {}", error.what())};
  }
}

// Nothing can be told of a standard error that is full or closed; the status still says it.
void tell(const Ending& ending) noexcept {
  if (ending.message.empty()) return;
  const std::string line = "gqaverify: " + printable_text(ending.message) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

Ending run_in_cluster(int argc, char** argv) {
  const std::unique_ptr<Cluster> cluster = join_cluster();
  const Ending mine = ending_of([&] { return Ending{run(argc, argv, *cluster), ""}; });
  Ending ending = cluster->settle(mine);
  // Told while the cluster is there, and once.
  if (cluster->is_first()) tell(ending);
  ending.message.clear();
  return ending;
}

}  // namespace
}  // namespace gqa::program

int main(int argc, char** argv) {
  using namespace gqa::program;
  choose_blas_kernels(argc, argv);
  hold_standard_descriptors();
  gqa::use_limb_pool();
  const Ending ending = ending_of([&] { return run_in_cluster(argc, argv); });
  tell(ending);
  return ending.status;
}
