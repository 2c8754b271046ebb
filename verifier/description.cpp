#include "description.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "help_format.hpp"

namespace gqa::program {
namespace {

// "NAME:{gmp,boost}" -> gmp, boost (taken_words.hpp).
std::vector<std::string> choices_of(const std::string& type) {
  const std::size_t open = type.find('{');
  const std::size_t close = type.find('}');
  std::vector<std::string> choices;
  if (open == std::string::npos || close == std::string::npos) return choices;
  std::istringstream list(type.substr(open + 1, close - open - 1));
  for (std::string choice; std::getline(list, choice, ',');) choices.push_back(choice);
  return choices;
}

ArgumentDescription describe(const CLI::Option& option) {
  ArgumentDescription argument;
  argument.positional = option.get_positional() && option.get_lnames().empty();
  if (argument.positional) {
    argument.names.push_back(option.get_name(true));
  } else {
    for (const std::string& name : option.get_snames()) argument.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) argument.names.push_back("--" + name);
  }
  argument.value = value_word(option);
  argument.choices = choices_of(option.get_type_name());
  argument.help = whole_description(option);
  argument.required = option.get_required();
  argument.many =
      takes_many(option) || option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
  return argument;
}

void add(const CLI::App& app, std::vector<std::string> words,
         std::vector<CommandDescription>& commands) {
  words.push_back(app.get_name());
  CommandDescription command{words, app.get_description(), {}, app.get_footer()};
  for (const CLI::Option* option : app.get_options()) {
    // An empty group hides an option from the help text.
    if (!option->get_group().empty()) command.arguments.push_back(describe(*option));
  }
  commands.push_back(std::move(command));
  const auto shown = [](const CLI::App* sub) { return !sub->get_group().empty(); };
  for (const CLI::App* sub : app.get_subcommands(shown)) add(*sub, words, commands);
}

nlohmann::ordered_json argument_json(const ArgumentDescription& argument) {
  return {{"names", argument.names},
          {"value", argument.value},
          {"choices", argument.choices},
          {"help", argument.help},
          {"positional", argument.positional},
          {"required", argument.required},
          {"many", argument.many}};
}

// "gqaverify" and "gqaverify probe" only lead to others.
bool does_something(const CommandDescription& command,
                    const std::vector<CommandDescription>& commands) {
  return std::none_of(commands.begin(), commands.end(), [&](const CommandDescription& other) {
    return other.words.size() > command.words.size() &&
           std::equal(command.words.begin(), command.words.end(), other.words.begin());
  });
}

}  // namespace

std::string description_json(const std::vector<CommandDescription>& commands) {
  auto json = nlohmann::ordered_json::array();
  for (const CommandDescription& command : commands) {
    if (!does_something(command, commands)) continue;
    auto arguments = nlohmann::ordered_json::array();
    for (const ArgumentDescription& argument : command.arguments) {
      arguments.push_back(argument_json(argument));
    }
    json.push_back(
        {{"words", std::vector<std::string>(command.words.begin() + 1, command.words.end())},
         {"summary", command.summary},
         {"arguments", std::move(arguments)},
         {"notes", command.notes}});
  }
  return json.dump(1) + "\n";
}

std::vector<CommandDescription> describe(const CLI::App& program) {
  std::vector<CommandDescription> commands;
  add(program, {}, commands);
  return commands;
}

}  // namespace gqa::program
