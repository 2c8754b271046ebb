#include "colour.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "launcher.hpp"

namespace gqa::program {
namespace {

constexpr std::string_view green = "\033[1;32m";
constexpr std::string_view red = "\033[1;31m";
constexpr std::string_view yellow = "\033[1;33m";
constexpr std::string_view no_colour = "\033[0m";

struct VerdictColour {
  std::string_view word;
  std::string_view colour;
};
constexpr std::array verdicts{VerdictColour{"pass", green},     VerdictColour{"ok", green},
                              VerdictColour{"declared", green}, VerdictColour{"found", green},
                              VerdictColour{"proved", green},   VerdictColour{"checked", green},
                              VerdictColour{"fail", red},       VerdictColour{"FAIL", red},
                              VerdictColour{"error", red},      VerdictColour{"refuted", red},
                              VerdictColour{"none", red},       VerdictColour{"undecided", yellow},
                              VerdictColour{"nearest", yellow}};

}  // namespace

bool takes_colour() {
  const char* refused = std::getenv("NO_COLOR");
  if (refused != nullptr && refused[0] != '\0') return false;
  // mpirun gives its processes a terminal of its own and may write what they print into a file.
  if (find_launch().by_mpi) return false;
  const char* terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

std::string coloured(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    std::string_view line = text.substr(0, end + 1);
    text.remove_prefix(end + 1);
    const std::string_view word = line.substr(0, line.find_first_of(" :\n"));
    const auto verdict = std::ranges::find(verdicts, word, &VerdictColour::word);
    if (verdict != verdicts.end()) {
      result += std::string(verdict->colour) + std::string(word) + std::string(no_colour);
      line.remove_prefix(word.size());
    }
    result += line;
  }
  return result;
}

}  // namespace gqa::program
