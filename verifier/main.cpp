// The gqaverify program: arguments and exit status, no mathematics.
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <exception>

#include "command.hpp"
#include "gqa/error.hpp"
#include "gqa/num/limb_pool.hpp"
#include "gqa/version.hpp"

namespace gqa::program {
namespace {

constexpr const char* footer =
    "Exit status: 0 everything asked for holds; 1 something was decided to be wrong;\n"
    "2 something could not be decided; 3 bad input; 64 wrong usage; 70 internal error.";

ExitStatus run(int argc, char** argv) {
  CLI::App program("Decides exactly whether grouped-query attention was computed correctly.",
                   "gqaverify");
  program.set_version_flag("--version", version);
  program.require_subcommand(1);
  program.footer(footer);
  const std::array commands{add_enumerate(program), add_verify(program), add_audit(program),
                            add_ledger(program),    add_check(program),  add_attain(program),
                            add_pool(program)};
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int status = program.exit(error);
    return status == 0 ? all_holds : wrong_usage;
  }
  for (const Command& command : commands) {
    if (command.app->parsed()) return command.run();
  }
  return wrong_usage;
}

}  // namespace
}  // namespace gqa::program

int main(int argc, char** argv) {
  gqa::use_limb_pool();
  try {
    return gqa::program::run(argc, argv);
  } catch (const gqa::InputError& error) {
    fmt::print(stderr, "gqaverify: {} [{}]\n", error.what(), error.code());
    return gqa::program::bad_input;
  } catch (const std::exception& error) {
    fmt::print(stderr, "gqaverify: internal error: {}\n", error.what());
    return gqa::program::internal_error;
  }
}
