#include "help_format.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <sstream>
#include <vector>

namespace gqa::program {
namespace {

constexpr std::size_t line_width = 100;
constexpr std::size_t name_width = 30;

std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const bool fits = !lines.empty() && lines.back().size() + 1 + word.size() <= width;
    if (fits) {
      lines.back() += " " + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

// The name, and what it is beside it, or below it where the name is long.
std::string entry(const std::string& name, const std::string& text) {
  std::string result = "  " + name;
  const bool is_long = result.size() + 1 >= name_width;
  const std::string indent(name_width, ' ');
  bool is_first = true;
  for (const std::string& line : wrapped(text, line_width - name_width)) {
    if (is_first && !is_long) {
      result.resize(name_width, ' ');
      result += line;
    } else {
      result += "\n" + indent + line;
    }
    is_first = false;
  }
  return result + "\n";
}

// In the order of their names: the parser keeps them in that of their addresses.
std::set<std::string> names_of(const std::set<CLI::Option*>& options) {
  std::set<std::string> names;
  for (const CLI::Option* option : options) names.insert(option->get_name());
  return names;
}

}  // namespace

std::string value_word(const CLI::Option& option) {
  if (option.get_type_size_max() == 0) return "";
  // "N:{a,b}": the word, and what checks take.
  const std::string type = option.get_type_name();
  const std::string word = type.substr(0, type.find(':'));
  if (word == "INT" || word == "UINT") return "N";
  if (word == "FLOAT") return "X";
  return word == "TEXT" ? "WORD" : word;
}

bool takes_many(const CLI::Option& option) {
  return option.get_expected_max() >= CLI::detail::expected_max_vector_size;
}

std::string whole_description(const CLI::Option& option) {
  std::string text = option.get_description();
  if (!option.get_default_str().empty()) {
    text += fmt::format(" (default {})", option.get_default_str());
  }
  if (!option.get_needs().empty()) {
    text += fmt::format("; only with {}", fmt::join(names_of(option.get_needs()), ", "));
  }
  // A positional that excludes every flag says so itself.
  if (!option.get_excludes().empty() && !option.get_positional()) {
    text += fmt::format("; not with {}", fmt::join(names_of(option.get_excludes()), ", "));
  }
  return text;
}

std::string HelpFormat::make_option(const CLI::Option* option, bool is_positional) const {
  std::string name = make_option_name(option, is_positional);
  // "--causal{dialect}": a value that stands behind "=" alone.
  if (const std::size_t brace = name.find('{'); brace != name.npos) {
    name = name.substr(0, brace) + "[=HOW]";
  }
  const std::string value = value_word(*option);
  if (!is_positional && !value.empty()) name += " " + value;
  if (takes_many(*option)) name += " ...";
  return entry(name, whole_description(*option));
}

std::string HelpFormat::make_subcommand(const CLI::App* command) const {
  return entry(command->get_name(), command->get_description());
}

}  // namespace gqa::program
