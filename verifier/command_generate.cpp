// gqaverify generate: the manual page, completion scripts and the description that
// python/generate.py reads, for the build. Not in the help text.
#include <fmt/format.h>

#include <memory>

#include "cluster.hpp"
#include "command.hpp"
#include "description.hpp"
#include "gqa/version.hpp"
#include "output.hpp"
#include "taken_words.hpp"

namespace gqa::program {

Command add_generate(CLI::App& program) {
  auto kind = std::make_shared<std::string>();
  CLI::App* app = program.add_subcommand("generate", "Write a text about the program itself");
  app->group("");
  app->add_option("KIND", *kind, "What to write to standard output")
      ->required()
      ->transform(one_of({"manual", "bash", "zsh", "fish", "json"}));
  return {app, [kind, &program](Cluster&) {
            const std::vector<CommandDescription> commands = describe(program);
            const std::string text = *kind == "manual" ? manual_page(commands, version)
                                     : *kind == "bash" ? bash_completion(commands)
                                     : *kind == "zsh"  ? zsh_completion(commands)
                                     : *kind == "fish" ? fish_completion(commands)
                                                       : description_json(commands);
            print_text(text);
            return all_holds;
          }};
}

}  // namespace gqa::program
