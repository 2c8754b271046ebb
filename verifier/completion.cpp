// Completion scripts for shells.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

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
  return fmt::format("    '{}') commands='{}' options='{}' ;;\n", joined(command.words),
                     joined(names), joined(option_names(command)));
}

// Options whose values are known, by the command and the option.
std::string bash_choices(const CommandDescription& command) {
  std::string text;
  for (const ArgumentDescription& argument : command.arguments) {
    if (argument.choices.empty() || argument.positional) continue;
    for (const std::string& name : argument.names) {
      text += fmt::format("    '{} {}') choices='{}' ;;\n", joined(command.words), name,
                          joined(argument.choices));
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
  if (!argument.choices.empty()) return fmt::format(":value:({})", joined(argument.choices));
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
      text += fmt::format(" \\\n{}'{}[{}]{}'", indent, name, zsh_text(argument.help),
                          zsh_value(argument));
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
      "  for word in \"${{COMP_WORDS[@]:1:COMP_CWORD-1}}\"; do\n"
      "    case \"$command $word\" in\n"
      "      {1}) command+=\" $word\" ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$command ${{COMP_WORDS[COMP_CWORD-1]}}\" in\n{3}"
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

}  // namespace gqa::program
