// How help texts are laid out.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace gqa::program {

/// Help texts of at most 100 columns: an option with the word for its value, what it does, its
/// default, and what it cannot stand beside.
class HelpFormat : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
};

/// The word for an option's value, "N" or "FILE"; empty: it takes none.
std::string value_word(const CLI::Option& option);

/// Does an option take any number of values?
bool takes_many(const CLI::Option& option);

/// What an option does, with its default and what it excludes or needs.
std::string whole_description(const CLI::Option& option);

}  // namespace gqa::program
