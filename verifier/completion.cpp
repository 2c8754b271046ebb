// Completion scripts for shells.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "description.hpp"

namespace gqa::program {
namespace {

std::string joined(const std::vector<std::string>& words, const char* between = " ") {
  return fmt::format("{}", fmt::join(words, between));
}

std::vector<std::string> option_names(const CommandDescription& command) {
  std::vector<std::string> names;
  for (const ArgumentDescription& argument : command.arguments) {
    if (!argument.positional) {
      names.insert(names.end(), argument.names.begin(), argument.names.end());
    }
  }
  return names;
}

// The commands that may follow this one.
std::vector<const CommandDescription*> following(const std::vector<CommandDescription>& commands,
                                                 const CommandDescription& command) {
  std::vector<const CommandDescription*> found;
  for (const CommandDescription& other : commands) {
    if (other.words.size() == command.words.size() + 1 &&
        std::equal(command.words.begin(), command.words.end(), other.words.begin())) {
      found.push_back(&other);
    }
  }
  return found;
}

std::string bash_words(const std::vector<CommandDescription>& commands,
                       const CommandDescription& command) {
  std::vector<std::string> names;
  for (const CommandDescription* next : following(commands, command)) {
    names.push_back(next->words.back());
  }
  for (const ArgumentDescription& argument : command.arguments) {
    if (argument.positional) std::ranges::copy(argument.choices, std::back_inserter(names));
  }
  return fmt::format("    '{}') commands='{}' options='{}' ;;\n", joined(command.words),
                     joined(names), joined(option_names(command)));
}

// Options whose values are known, by the command and the option. A flag that takes none has values
// behind "=" alone.
std::string bash_choices(const CommandDescription& command) {
  std::string text;
  for (const ArgumentDescription& argument : command.arguments) {
    if (argument.choices.empty() || argument.positional) continue;
    for (const std::string& name : argument.names) {
      const std::string place = fmt::format("{} {}", joined(command.words), name);
      const std::string places = argument.value.empty() ? fmt::format("'{}='", place)
                                                        : fmt::format("'{0}' | '{0}='", place);
      text += fmt::format("    {}) choices='{}' ;;\n", places, joined(argument.choices));
    }
  }
  return text;
}

// Inside single quotes of zsh, and inside the brackets and colons of _arguments.
std::string zsh_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
    } else if (c == '[' || c == ']' || c == ':' || c == '\\') {
      result += '\\';
      result += c;
    } else {
      result += c == '\n' ? ' ' : c;
    }
  }
  return result;
}

std::string zsh_value(const ArgumentDescription& argument) {
  if (!argument.choices.empty()) {
    return fmt::format("{}:value:({})", argument.value.empty() && !argument.positional ? ":" : "",
                       joined(argument.choices));
  }
  if (argument.value.empty() && !argument.positional) return "";
  return fmt::format(":{}:_files", zsh_text(argument.value));
}

std::string zsh_arguments(const CommandDescription& command, const std::string& indent) {
  std::string text;
  for (const ArgumentDescription& argument : command.arguments) {
    if (argument.positional) {
      text += fmt::format(" \\\n{}'*{}'", indent, zsh_value(argument));
      continue;
    }
    for (const std::string& name : argument.names) {
      const bool behind_equals = argument.value.empty() && !argument.choices.empty();
      text += fmt::format(" \\\n{}'{}{}[{}]{}'", indent, name, behind_equals ? "=-" : "",
                          zsh_text(argument.help), zsh_value(argument));
    }
  }
  return text;
}

std::string zsh_function_name(const CommandDescription& command) {
  return "_" + joined(command.words, "_");
}

// A function for each command: its arguments, or the commands behind it.
std::string zsh_function(const std::vector<CommandDescription>& commands,
                         const CommandDescription& command) {
  const auto next = following(commands, command);
  std::string text = fmt::format("{}() {{\n", zsh_function_name(command));
  if (next.empty()) {
    return text + "  _arguments" + zsh_arguments(command, "    ") + "\n}\n\n";
  }
  text += "  local -a commands\n  local state line\n  commands=(\n";
  for (const CommandDescription* sub : next) {
    text += fmt::format("    '{}:{}'\n", sub->words.back(), zsh_text(sub->summary));
  }
  text += "  )\n  _arguments -C" + zsh_arguments(command, "    ") +
          " \\\n    '1:command:->command' '*::argument:->argument'\n";
  text +=
      "  case $state in\n    command) _describe command commands ;;\n    argument)\n"
      "      case $line[1] in\n";
  for (const CommandDescription* sub : next) {
    text += fmt::format("        {}) {} ;;\n", sub->words.back(), zsh_function_name(*sub));
  }
  return text + "      esac ;;\n  esac\n}\n\n";
}

std::string fish_text(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result + "'";
}

// Where a command's words are all there and no other command's.
std::string fish_place(const CommandDescription& command) {
  if (command.words.size() == 1) return "__fish_use_subcommand";
  std::string place;
  for (std::size_t i = 1; i < command.words.size(); ++i) {
    place += fmt::format("{}__fish_seen_subcommand_from {}", place.empty() ? "" : "; and ",
                         command.words[i]);
  }
  return fish_text(place);
}

std::string fish_argument(const std::string& start, const ArgumentDescription& argument) {
  const std::string choices =
      argument.choices.empty() ? "" : fmt::format(" -a {}", fish_text(joined(argument.choices)));
  if (argument.positional) return choices.empty() ? "" : fmt::format("{} -f{}\n", start, choices);
  std::string names;
  for (const std::string& name : argument.names) {
    names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  // -x: a value and no file; -r: a value, files are offered.
  const char* value = argument.value.empty() ? "" : choices.empty() ? " -r" : " -x";
  return fmt::format("{}{}{}{} -d {}\n", start, names, value, choices, fish_text(argument.help));
}

}  // namespace

std::string bash_completion(const std::vector<CommandDescription>& commands) {
  const std::string& name = commands.front().words.front();
  std::string paths;
  std::string words;
  std::string choices;
  for (const CommandDescription& command : commands) {
    paths += fmt::format("{}'{}'", paths.empty() ? "" : " | ", joined(command.words));
    words += bash_words(commands, command);
    choices += bash_choices(command);
  }
  return fmt::format(
      "# bash completion for {0}, generated from its command line.\n"
      "_{0}() {{\n"
      "  local current=${{COMP_WORDS[COMP_CWORD]}} command={0} word commands='' options='' "
      "choices=''\n"
      "  local before=${{COMP_WORDS[COMP_CWORD-1]}}\n"
      "  if [[ $current == = ]]; then\n"
      "    before+== current=''\n"
      "  elif [[ $before == = ]]; then\n"
      "    before=${{COMP_WORDS[COMP_CWORD-2]}}=\n"
      "  fi\n"
      "  for word in \"${{COMP_WORDS[@]:1:COMP_CWORD-1}}\"; do\n"
      "    case \"$command $word\" in\n"
      "      {1}) command+=\" $word\" ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$command $before\" in\n{3}"
      "  esac\n"
      "  case $command in\n{2}"
      "  esac\n"
      "  COMPREPLY=()\n"
      "  if [[ -n $choices ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$choices\" -- \"$current\")\n"
      "  elif [[ $current == -* ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")\n"
      "  elif [[ -n $commands ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$commands\" -- \"$current\")\n"
      "  else\n"
      "    compopt -o default\n"
      "  fi\n"
      "}}\n"
      "complete -F _{0} {0}\n",
      name, paths, words, choices);
}

std::string zsh_completion(const std::vector<CommandDescription>& commands) {
  const std::string& name = commands.front().words.front();
  std::string text = fmt::format(
      "#compdef {0}\n# zsh completion for {0}, generated from its command line.\n\n", name);
  for (const CommandDescription& command : commands) text += zsh_function(commands, command);
  return text + fmt::format("_{} \"$@\"\n", name);
}

std::string fish_completion(const std::vector<CommandDescription>& commands) {
  const std::string& name = commands.front().words.front();
  std::string text =
      fmt::format("# fish completion for {}, generated from its command line.\n", name);
  for (const CommandDescription& command : commands) {
    const std::string start = fmt::format("complete -c {} -n {}", name, fish_place(command));
    const auto next = following(commands, command);
    for (const CommandDescription* sub : next) {
      text += fmt::format("{} -f -a {} -d {}\n", start, sub->words.back(), fish_text(sub->summary));
    }
    for (const ArgumentDescription& argument : command.arguments) {
      text += fish_argument(start, argument);
    }
  }
  return text;
}

}  // namespace gqa::program
