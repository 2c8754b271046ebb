#include "gqa/near_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace gqa {
namespace {

// "a", "a or b", "a, b or c".
std::string listed(const std::vector<std::string>& words) {
  if (words.size() < 2) return fmt::format("{}", fmt::join(words, ""));
  const std::span<const std::string> first(words.data(), words.size() - 1);
  return fmt::format("{} or {}", fmt::join(first, ", "), words.back());
}

}  // namespace

std::size_t edit_distance(std::string_view from, std::string_view to) {
  // Rows of the table of distances between beginnings: two before, one before, this one.
  std::vector<std::size_t> earlier(to.size() + 1);
  std::vector<std::size_t> before(to.size() + 1);
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(before.begin(), before.end(), std::size_t{0});
  for (std::size_t i = 1; i <= from.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = before[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, row[j - 1] + 1, before[j] + 1});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1]) {
        row[j] = std::min(row[j], earlier[j - 2] + 1);
      }
    }
    std::swap(earlier, before);
    std::swap(before, row);
  }
  return before.back();
}

std::string plain_spelling(std::string_view word) {
  std::string result;
  for (const char c : word) {
    if (c == '-' || c == '_' || c == ' ') continue;
    result += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return result;
}

std::vector<std::string> near_words(std::string_view text, std::span<const std::string_view> words,
                                    std::size_t most) {
  const std::string meant = plain_spelling(text);
  constexpr std::size_t shortest_part = 3;  // fewer letters are parts of too many words
  // One slip in up to four letters, two in more, three from ten on.
  const std::size_t slips = meant.size() <= 4 ? 1 : meant.size() < 10 ? 2 : 3;
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string_view word : words) {
    const std::string spelled = plain_spelling(word);
    const std::size_t distance = edit_distance(meant, spelled);
    const bool is_part = meant.size() >= shortest_part &&
                         (spelled.find(meant) != spelled.npos ||
                          (spelled.size() >= shortest_part && meant.find(spelled) != meant.npos));
    // A word with nothing in common is as near to a short one as any other.
    const bool is_slip = distance <= slips && distance < meant.size() && distance < spelled.size();
    if (is_slip) {
      near.emplace_back(distance, word);
    } else if (is_part) {
      near.emplace_back(slips + 1, word);
    }
  }
  std::ranges::stable_sort(near, {}, &std::pair<std::size_t, std::string>::first);
  std::vector<std::string> result;
  for (auto& [distance, word] : near) {
    // What is the same but for its spelling leaves nothing to ask.
    if (result.size() == most || (near.front().first == 0 && distance > 0)) break;
    result.push_back(std::move(word));
  }
  return result;
}

std::string did_you_mean(const std::vector<std::string>& words) {
  return words.empty() ? "" : fmt::format("did you mean {}?", listed(words));
}

std::string unknown_word(std::string_view text, std::span<const std::string_view> words) {
  const std::vector<std::string> near = near_words(text, words);
  std::vector<std::string_view> others;
  std::ranges::copy_if(words, std::back_inserter(others), [&near](std::string_view word) {
    return std::ranges::find(near, word) == near.end();
  });
  if (near.empty()) {
    return fmt::format("\"{}\" is not known; write one of {}", text, fmt::join(words, ", "));
  }
  return fmt::format(
      "\"{}\" is not known; {}{}", text, did_you_mean(near),
      others.empty() ? "" : fmt::format(" The others are {}", fmt::join(others, ", ")));
}

}  // namespace gqa
