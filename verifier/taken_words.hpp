// Checks of single values on the command line, with messages that say what is taken.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gqa::program {

/// For Option::transform: one of `names` in any spelling (gqa/near_words.hpp), or one of
/// `others`, each {as others write it, the name that it stands for}. The value becomes the name.
/// Completion scripts offer the names.
CLI::Validator one_of(const std::vector<std::string>& names,
                      const std::vector<std::pair<std::string, std::string>>& others = {});

/// Takes whatever is written: its own check comes later. Completion scripts offer `names`.
CLI::Validator offers(const std::vector<std::string>& names);

/// As one_of, for names of other types.
template <class Names>
std::vector<std::string> as_strings(const Names& names) {
  return {std::begin(names), std::end(names)};
}

/// A number from `least` to `most`. NaN is not: it is neither below a limit nor above it.
CLI::Validator number_between(double least, double most);

/// Decimal digits with no sign and no leading zeros, from `least` to `most`: the parser by itself
/// takes 010 for eight and the largest number for whatever is beyond it.
CLI::Validator integer_between(std::uint64_t least, std::uint64_t most);

}  // namespace gqa::program
