// What every command has: its place on the command line and a run that gives the status.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "exit_status.hpp"

namespace gqa::program {

class Cluster;

/// A command registered on the command line; `run` is called if it was chosen.
struct Command {
  CLI::App* app = nullptr;
  std::function<ExitStatus(Cluster&)> run;
  bool shared = false;  ///< all ranks work on it; otherwise the first alone runs it
};

Command add_enumerate(CLI::App& program);
Command add_verify(CLI::App& program);
Command add_audit(CLI::App& program);
Command add_faults(CLI::App& program);
Command add_identify(CLI::App& program);
Command add_probe(CLI::App& program);
Command add_ledger(CLI::App& program);
Command add_check(CLI::App& program);
Command add_compare(CLI::App& program);
Command add_attain(CLI::App& program);
Command add_pool(CLI::App& program);
Command add_rank(CLI::App& program);
Command add_claims(CLI::App& program);
/// `program` must outlive the command.
Command add_generate(CLI::App& program);

}  // namespace gqa::program
