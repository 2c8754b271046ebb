// What is wrong with a command line, and what to write instead.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

namespace gqa::program {

using Words = std::vector<std::string>;

/// "help audit" as "audit --help"; other words as they are.
Words without_help_command(Words words);

/// The message for "help WORD..." with a word that is no command; nullopt for everything else.
std::optional<std::string> unknown_help(const CLI::App& program, const Words& words);

/// What to print to standard error for a command line that the parser refused: the command, what is
/// wrong, what was probably meant, and where to read more. It ends in a line end.
/// `words`: the arguments without the program's name.
std::string usage_message(const CLI::App& program, const Words& words,
                          const CLI::ParseError& error);

/// The same for what the parser takes and nobody means: a value of --causal without "=", which is
/// taken for a path. nullopt: there is nothing of the kind.
std::optional<std::string> misplaced_value(const CLI::App& program, const Words& words);

}  // namespace gqa::program
