#include "usage_message.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "gqa/near_words.hpp"
#include "gqa/printable.hpp"
#include "other_tools.hpp"

namespace gqa::program {
namespace {

bool is_flag(std::string_view word) {
  return word.size() > 1 && word.front() == '-' && word != "--";
}

bool is_there(const std::string& path) {
  std::error_code ignored;
  return !path.empty() && std::filesystem::exists(path, ignored);
}

std::string before_equals(const std::string& word) {
  return word.substr(0, word.find('='));
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* sub) { return !sub->get_group().empty(); });
}

std::vector<std::string> names_of(const std::vector<const CLI::App*>& commands) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

bool has_flag(const CLI::App& app, const std::string& flag) {
  const std::vector<std::string> flags = flags_of(app);
  return std::ranges::find(flags, flag) != flags.end();
}

std::vector<std::string> near_of(std::string_view word, const std::vector<std::string>& names) {
  const std::vector<std::string_view> known(names.begin(), names.end());
  return near_words(word, known);
}

// The command that the words name, as far as they do, and the words behind its name.
struct Chosen {
  const CLI::App* app = nullptr;
  std::string name;  ///< "gqaverify probe check"
  Words rest;
};

Chosen chosen_by(const CLI::App& program, const Words& words) {
  Chosen chosen{&program, program.get_name(), words};
  while (!chosen.rest.empty()) {
    const auto commands = chosen.app->get_subcommands([](const CLI::App*) { return true; });
    const auto found = std::ranges::find(commands, chosen.rest.front(),
                                         [](const CLI::App* sub) { return sub->get_name(); });
    if (found == commands.end()) break;
    chosen.app = *found;
    chosen.name += " " + chosen.rest.front();
    chosen.rest.erase(chosen.rest.begin());
  }
  return chosen;
}

// Which commands have a flag that this one has not.
std::string elsewhere(const CLI::App& program, const std::string& flag) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(program)) {
    if (has_flag(*command, flag)) names.push_back(command->get_name());
  }
  if (names.empty()) return "";
  return fmt::format("{} is a flag of {}", flag, fmt::join(names, ", "));
}

std::string unknown_flag(const CLI::App& program, const CLI::App& app, const std::string& word) {
  const std::string flag = before_equals(word);
  const std::string said = fmt::format("there is no flag {}", flag);
  const std::string_view other = meaning_elsewhere(flag, flags_of(app));
  if (!other.empty()) return fmt::format("{}: {}", said, other);
  const std::vector<std::string> near = near_of(flag, flags_of(app));
  if (!near.empty()) return fmt::format("{}; {}", said, did_you_mean(near));
  const std::string others = elsewhere(program, flag);
  return others.empty() ? said : fmt::format("{} here: {}", said, others);
}

// A word where a command should stand.
std::string unknown_command(const CLI::App& program, const Chosen& chosen) {
  const std::vector<std::string> names = names_of(commands_of(*chosen.app));
  const std::string& word = chosen.rest.front();
  if (is_flag(word)) {
    const std::string flag = before_equals(word);
    const std::vector<std::string> near =
        near_of(flag.starts_with("--") ? flag : "-" + flag, flags_of(*chosen.app));
    if (!near.empty()) return fmt::format("there is no flag {}; {}", flag, did_you_mean(near));
    const std::string others = elsewhere(program, flag);
    if (!others.empty()) return fmt::format("{}: write the command first, then its flags", others);
    return fmt::format("there is no flag {}", flag);
  }
  if (is_there(word)) {
    return fmt::format("a command is missing before {}; did you mean {} audit {}?", word,
                       program.get_name(), word);
  }
  const std::vector<std::string> near = near_of(word, names);
  if (!near.empty()) return fmt::format("\"{}\" is no command; {}", word, did_you_mean(near));
  return fmt::format("\"{}\" is no command; write one of {}", word, fmt::join(names, ", "));
}

// A word that the command has no place for: the first of the line.
std::string unexpected(const CLI::App& program, const Chosen& chosen) {
  const std::vector<std::string> left = chosen.app->remaining();
  const std::string* before = nullptr;
  for (const std::string& word : chosen.rest) {
    if (std::ranges::find(left, word) != left.end()) {
      if (is_flag(word)) return unknown_flag(program, *chosen.app, word);
      // Behind a flag without a value it was meant as one.
      if (before != nullptr && is_flag(*before)) {
        return fmt::format("{} takes no value; \"{}\" behind it has no place", *before, word);
      }
      return fmt::format("\"{}\" has no place here: values stand behind flags", word);
    }
    before = &word;
  }
  return fmt::format("{} has no place here", fmt::join(left, " "));
}

// A flag for a report may have taken the path that is missing.
std::string taken_path(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (value_is_output(option->get_name()) && option->count() > 0 &&
        is_there(option->results().front())) {
      return fmt::format(
          "; {0} took {1} for the FILE that it writes: write {0} FILE, or {0} - for standard "
          "output",
          option->get_name(), option->results().front());
    }
  }
  return "";
}

// The words on both sides of a verb in a message of the parser.
std::pair<std::string, std::string> sides(const std::string& text, const std::string& verb) {
  const std::size_t at = text.find(verb);
  if (at == text.npos) return {text, ""};
  return {text.substr(0, at), text.substr(at + verb.size())};
}

// "--json: 1 required FILE missing".
std::string missing_value(const std::string& text) {
  const auto [flag, value] = sides(text, ": 1 required ");
  if (value.empty()) return text;
  return fmt::format("{} needs a {} behind it{}", flag, value.substr(0, value.find_first_of(": ")),
                     value_is_output(flag) ? ", - for standard output" : "");
}

std::string refusal(const CLI::App& program, const Chosen& chosen, const CLI::ParseError& error) {
  const std::string text = error.what();
  if (!commands_of(*chosen.app).empty()) {
    if (!chosen.rest.empty()) return unknown_command(program, chosen);
    return fmt::format("a command is missing; write one of {}",
                       fmt::join(names_of(commands_of(*chosen.app)), ", "));
  }
  // What it took for its value may be the word that another rule of the parser is about.
  if (std::ranges::any_of(chosen.app->remaining(), is_flag)) return unexpected(program, chosen);
  switch (static_cast<CLI::ExitCodes>(error.get_exit_code())) {
    case CLI::ExitCodes::ExtrasError:
      return unexpected(program, chosen);
    case CLI::ExitCodes::RequiredError:
      return text + taken_path(*chosen.app);
    case CLI::ExitCodes::ArgumentMismatch:
      return missing_value(text);
    case CLI::ExitCodes::ExcludesError: {
      const auto [one, other] = sides(text, " excludes ");
      return fmt::format("{} and {} exclude each other: leave one of them out", one, other);
    }
    case CLI::ExitCodes::RequiresError: {
      const auto [one, other] = sides(text, " requires ");
      return fmt::format("{} means nothing without {}: add it", one, other);
    }
    default:
      break;
  }
  return text;
}

std::string whole_message(const Chosen& chosen, const std::string& said) {
  return printable_text(fmt::format(
      "{0}: {1}\n\"{0} --help\" says what it takes, with an example.\n", chosen.name, said));
}

}  // namespace

Words without_help_command(Words words) {
  if (words.empty() || words.front() != "help") return words;
  words.erase(words.begin());
  words.emplace_back("--help");
  return words;
}

std::optional<std::string> unknown_help(const CLI::App& program, const Words& words) {
  if (words.empty() || words.front() != "help") return std::nullopt;
  const Chosen chosen = chosen_by(program, Words(words.begin() + 1, words.end()));
  if (chosen.rest.empty() || is_flag(chosen.rest.front())) return std::nullopt;
  if (commands_of(*chosen.app).empty()) return std::nullopt;  // of a command itself
  return whole_message(chosen, unknown_command(program, chosen));
}

std::string usage_message(const CLI::App& program, const Words& words,
                          const CLI::ParseError& error) {
  const Chosen chosen = chosen_by(program, words);
  return whole_message(chosen, refusal(program, chosen, error));
}

std::optional<std::string> misplaced_value(const CLI::App& program, const Words& words) {
  const Chosen chosen = chosen_by(program, words);
  if (!has_flag(*chosen.app, "--causal") || !commands_of(*chosen.app).empty()) return std::nullopt;
  for (std::size_t i = 0; i + 1 < chosen.rest.size(); ++i) {
    const std::string& value = chosen.rest[i + 1];
    const bool is_meant = !is_flag(value) && is_value_of_causal(value) && !is_there(value);
    if (chosen.rest[i] != "--causal" || !is_meant) continue;
    return whole_message(chosen, fmt::format("a value of --causal stands behind \"=\": write "
                                             "--causal={}",
                                             value));
  }
  return std::nullopt;
}

}  // namespace gqa::program
