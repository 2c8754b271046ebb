// What the command line takes, as data: for the manual page and for shells.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace gqa::program {

/// One option, flag or positional argument.
struct ArgumentDescription {
  std::vector<std::string> names;    ///< "-h", "--help"; "PATH" for a positional
  std::string value;                 ///< "FILE"; empty: takes none
  std::vector<std::string> choices;  ///< of the value, or of that behind "=" if it takes none
  std::string help;
  bool positional = false;
  bool required = false;
  bool many = false;  ///< takes any number of values, or may stand any number of times
};

struct CommandDescription {
  std::vector<std::string> words;  ///< "gqaverify", "probe", "write"
  std::string summary;
  std::vector<ArgumentDescription> arguments;
  std::string notes;  ///< lines behind the help text: how it is used, examples
};

/// The program itself first, then every command and its own commands, in the order of the help
/// text.
std::vector<CommandDescription> describe(const CLI::App& program);

/// A manual page in roff, section 1.
std::string manual_page(const std::vector<CommandDescription>& commands,
                        const std::string& version);

/// For programs that call this one: a JSON array of the commands that do something.
std::string description_json(const std::vector<CommandDescription>& commands);

/// Completion scripts: commands, options, files, and the values that an option can have.
std::string bash_completion(const std::vector<CommandDescription>& commands);
std::string zsh_completion(const std::vector<CommandDescription>& commands);
std::string fish_completion(const std::vector<CommandDescription>& commands);

}  // namespace gqa::program
