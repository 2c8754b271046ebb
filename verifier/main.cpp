// The gqaverify program: arguments and exit status, no mathematics.
#include <fmt/format.h>

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
#include "output_paths.hpp"

namespace gqa::program {
namespace {

constexpr const char* footer =
    "Exit status: 0 everything asked for holds; 1 something was decided to be wrong;\n"
    "2 something could not be decided; 3 bad input; 64 wrong usage; 70 internal error.";

ExitStatus run(int argc, char** argv, Cluster& cluster) {
  CLI::App program("Decides exactly whether grouped-query attention was computed correctly.",
                   "gqaverify");
  program.set_version_flag("--version", version);
  program.require_subcommand(1);
  program.footer(footer);
  const std::array commands{add_enumerate(program), add_verify(program),  add_audit(program),
                            add_identify(program),  add_probe(program),   add_ledger(program),
                            add_check(program),     add_compare(program), add_attain(program),
                            add_pool(program),      add_rank(program),    add_claims(program),
                            add_faults(program),    add_generate(program)};
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int status = cluster.is_first() ? program.exit(error) : error.get_exit_code();
    return status == 0 ? all_holds : wrong_usage;
  }
  for (const Command& command : commands) {
    if (!command.app->parsed()) continue;
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
