// What somebody may have meant who wrote a word that is not known.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gqa {

/// Insertions, deletions, replacements and exchanges of neighbours that make one text of the other
/// (Damerau and Levenshtein, without overlapping exchanges).
std::size_t edit_distance(std::string_view from, std::string_view to);

/// The same word however it is written: ASCII letters in lower case, "-", "_" and blanks left out.
std::string plain_spelling(std::string_view word);

/// Those of `words` that are the same but for their spelling, that begin with `text` or hold it, or
/// that a slip of the keyboard or two tells apart; nearest first, at most `most`.
std::vector<std::string> near_words(std::string_view text, std::span<const std::string_view> words,
                                    std::size_t most = 4);

/// "did you mean a, b or c?", or "" without words.
std::string did_you_mean(const std::vector<std::string>& words);

/// `"x" is not known; did you mean a? The others are b, c`, or `...; write one of a, b, c` where
/// none is near: a message for a word that must be one of `words`.
std::string unknown_word(std::string_view text, std::span<const std::string_view> words);

}  // namespace gqa
