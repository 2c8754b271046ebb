// Presets: what known systems mean where a contract is silent.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gqa/attention/contract.hpp"

namespace gqa {

/// How a system counts the keys of its window word W.
enum class WindowCount {
  none,         ///< it has no word of its own: write window LEFT,RIGHT
  with_own,     ///< W keys, the query's own among them: (W - 1, 0)
  without_own,  ///< W keys before the query's own: (W, 0)
  both_sides,   ///< W keys on each side: (W, W)
};

/// The defaults of one system, taken from its own code or documentation.
///
/// A dialect says where the causal diagonal lies, not whether there is one.
struct Dialect {
  std::string_view name;
  CausalAlignment causal_alignment;
  EmptyRow empty_row;
  std::string_view window_word;  ///< as a contract field; empty: none
  WindowCount window_count;
  std::string_view source;
};

/// All dialects, in the order of docs/contract.md, "Dialects".
std::span<const Dialect> dialects();

/// The dialect of that name, or nullptr.
const Dialect* find_dialect(std::string_view name);

/// As find_dialect. Errors: InputError "contract.unknown_value" at `where`.
const Dialect& parse_dialect(std::string_view name, const std::string& where);

/// Every window word once: "sliding_window", "n_swa", "local_window_size".
std::vector<std::string_view> window_words();

/// States the window in a dialect's own word; replaces a window stated before.
/// Errors: InputError "contract.window" at `where` unless `size` is positive or -1 (unbounded).
void state_window(Contract& contract, std::string_view word, std::int64_t size,
                  const std::string& where);

/// The contract with every field in which nothing was stated set as its dialect has it, and
/// a window word turned into a window. All fields of the result count as stated, so that
/// resolving again changes nothing. Without a dialect nothing changes.
///
/// Errors: InputError "contract.unknown_value" at "dialect"; "contract.window_word" at the
/// word, where the dialect has another word or there is none.
Contract resolve_dialect(Contract contract);

}  // namespace gqa
