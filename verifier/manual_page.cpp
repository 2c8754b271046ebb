// The manual page, in the macros of man(7).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "description.hpp"

namespace gqa::program {
namespace {

// Text that roff prints as it is: no escapes, no hyphenation of flags, no requests.
std::string plain(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
  }
  if (result.starts_with('.') || result.starts_with('\'')) result.insert(0, "\\&");
  return result;
}

std::string bold(const std::string& text) {
  return "\\fB" + plain(text) + "\\fR";
}
std::string italic(const std::string& text) {
  return "\\fI" + plain(text) + "\\fR";
}

std::string title(const ArgumentDescription& argument) {
  if (argument.positional) return italic(argument.names.front());
  std::vector<std::string> names;
  for (const std::string& name : argument.names) names.push_back(bold(name));
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  if (!argument.choices.empty()) {
    text += " " + italic(fmt::format("{}", fmt::join(argument.choices, "|")));
  } else if (!argument.value.empty()) {
    text += " " + italic(argument.value);
  }
  return text;
}

std::string argument_entry(const ArgumentDescription& argument) {
  return fmt::format(".TP\n{}\n{}{}\n", title(argument), plain(argument.help),
                     argument.required ? " (required)" : "");
}

// Lines are kept as they are: examples and lists.
std::string lines_as_they_are(const std::string& text) {
  if (text.empty()) return "";
  std::string result = ".PP\n.nf\n";
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    result += line.empty() ? ".sp\n" : plain(line) + "\n";
  }
  return result + ".fi\n";
}

std::string synopsis(const CommandDescription& command) {
  std::string text = bold(fmt::format("{}", fmt::join(command.words, " ")));
  for (const ArgumentDescription& argument : command.arguments) {
    if (!argument.positional) continue;
    const std::string name = italic(argument.names.front());
    text += argument.required ? " " + name : " [" + name + "]";
  }
  return text + " [" + italic("OPTIONS") + "]";
}

std::string command_section(const CommandDescription& command) {
  const std::vector<std::string> words(command.words.begin() + 1, command.words.end());
  std::string text = fmt::format(".SS {}\n", plain(fmt::format("{}", fmt::join(words, " "))));
  text += fmt::format("{}\n.PP\n{}\n", synopsis(command), plain(command.summary));
  for (const ArgumentDescription& argument : command.arguments) text += argument_entry(argument);
  return text + lines_as_they_are(command.notes);
}

// "Exit status: 0 everything ..." -> the text behind the colon.
std::string behind_colon(const std::string& text) {
  const std::size_t colon = text.find(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

}  // namespace

std::string manual_page(const std::vector<CommandDescription>& commands,
                        const std::string& version) {
  const CommandDescription& program = commands.front();
  const std::string& name = program.words.front();
  std::string upper = name;
  std::ranges::transform(upper, upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  std::string summary = program.summary;
  while (summary.ends_with('.')) summary.pop_back();
  if (summary.starts_with("Decides")) summary[0] = 'd';
  std::string text =
      fmt::format(".TH {} 1 \"\" \"{} {}\" \"User Commands\"\n", upper, name, version);
  text += fmt::format(".SH NAME\n{} \\- {}\n", name, plain(summary));
  text +=
      fmt::format(".SH SYNOPSIS\n{} {} [{}]\n", bold(name), italic("COMMAND"), italic("OPTIONS"));
  text += ".SH OPTIONS\n";
  for (const ArgumentDescription& argument : program.arguments) text += argument_entry(argument);
  text += ".SH COMMANDS\n";
  for (std::size_t i = 1; i < commands.size(); ++i) text += command_section(commands[i]);
  return text + ".SH EXIT STATUS" + lines_as_they_are(behind_colon(program.notes)).substr(3);
}

}  // namespace gqa::program
