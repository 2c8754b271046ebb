// What attention means in one problem: the declared rules, before any tensor.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gqa/num/rational.hpp"

namespace gqa {

/// Where the axes of query, key, value and output are.
/// B batch, H heads, S positions, D width; bsh folds heads into the last axis;
/// thd is the packed layout of total positions, heads, width; hsd has no batch axis.
enum class Layout { bhsd, bshd, sbhd, bsh, thd, hsd };

/// The tensors that have a layout of heads, positions and width.
enum class Operand { query, key, value, output };
inline constexpr std::array operands{Operand::query, Operand::key, Operand::value, Operand::output};

/// Which KV head a query head reads.
enum class HeadMapKind {
  contiguous,     ///< floor(h / (Hq / Hkv))
  interleaved,    ///< h mod Hkv
  explicit_list,  ///< as listed
};

/// Where the causal diagonal lies: the position of query row i is i + offset.
enum class CausalAlignment {
  top_left,      ///< offset 0
  bottom_right,  ///< offset = visible length of the batch entry - T
  onnx,          ///< past length; or nonpad_kv_seqlen - T if that is given; or 0
};

/// What an output row without a visible key must hold.
enum class EmptyRow {
  zero,
  nan,
  any,
  mean,  ///< the mean of all values of the history: a softmax over finite fill values
};

/// What a row without a visible key must hold if `declared` is the contract's policy: a sink keeps
/// its denominator positive, so that the row is a true zero whatever the policy (docs/contract.md,
/// "Definition", step 6).
constexpr EmptyRow empty_row_rule(EmptyRow declared, bool has_sink) {
  return has_sink ? EmptyRow::zero : declared;
}

/// The logarithm that a recorded lse is.
enum class LseBase {
  e,    ///< ln of the softmax denominator
  two,  ///< log2 of it
};

/// What lse holds of a row without a visible key, whose denominator is zero.
enum class LseEmpty { minus_infinity, plus_infinity };

/// The axes of lse: [B, Hq, T] or [B, T, Hq]; of packed documents [Hq, total] or [total, Hq].
enum class LseLayout { bht, bth };

/// In which form a recorded lse is given.
struct LseForm {
  LseBase base = LseBase::e;
  LseEmpty empty = LseEmpty::minus_infinity;
  LseLayout layout = LseLayout::bht;
  friend bool operator==(const LseForm&, const LseForm&) = default;
};

struct HeadMap {
  HeadMapKind kind = HeadMapKind::contiguous;
  std::vector<std::int64_t> list;  ///< explicit_list only: KV head per query head
  friend bool operator==(const HeadMap&, const HeadMap&) = default;
};

/// Visible keys p - left <= j <= p + right, both included; -1: unbounded.
struct Window {
  std::int64_t left = -1;
  std::int64_t right = -1;
  bool is_unbounded() const { return left < 0 && right < 0; }
  friend bool operator==(const Window&, const Window&) = default;
};

/// A window in the word of a dialect, which says how it counts.
struct WindowWord {
  std::string word;        ///< "sliding_window", "n_swa", "local_window_size"
  std::int64_t size = -1;  ///< keys, or -1: unbounded
  friend bool operator==(const WindowWord&, const WindowWord&) = default;
};

/// Which of the fields that a dialect has defaults for were stated by somebody.
struct StatedFields {
  bool causal_alignment = false;
  bool empty_row = false;
};

/// The declared contract. Field names follow the ONNX Attention operator where it
/// has the word. Defaults are the plain, non-causal operator.
struct Contract {
  Layout layout = Layout::bhsd;
  /// Operands whose axes lie elsewhere than `layout` says, by Operand.
  std::array<std::optional<Layout>, operands.size()> own_layouts = {};
  std::optional<std::int64_t> q_num_heads;   ///< needed by folded layouts
  std::optional<std::int64_t> kv_num_heads;  ///< needed by folded layouts
  HeadMap head_map;
  /// nullopt: 1/sqrt(dk), the real number, not its rounding.
  std::optional<Rational> scale;
  bool causal = false;
  CausalAlignment causal_alignment = CausalAlignment::bottom_right;
  Window window;
  Rational softcap = 0;  ///< 0: off
  EmptyRow empty_row = EmptyRow::zero;
  LseForm lse;
  std::string dialect;  ///< the preset that the defaults come from; empty: none
  StatedFields stated;  ///< what wins over the dialect's defaults; see resolve_dialect
  std::optional<WindowWord> window_word;  ///< replaces `window` where it is there

  Layout layout_of(Operand operand) const {
    return own_layouts[static_cast<std::size_t>(operand)].value_or(layout);
  }
  /// Are all operands laid out alike?
  bool has_one_layout() const;
};

std::string_view name(Layout value);
std::string_view name(Operand value);  ///< "query"
std::string_view name(HeadMapKind value);
std::string_view name(CausalAlignment value);
std::string_view name(EmptyRow value);
std::string_view name(LseBase value);    ///< "e", "2"
std::string_view name(LseEmpty value);   ///< "-inf", "+inf"
std::string_view name(LseLayout value);  ///< "BHT", "BTH"

/// The enumerator of that name.
/// Errors: InputError "contract.unknown_value" at `where`, listing the names.
Layout parse_layout(std::string_view text, const std::string& where);
/// "BSHD" for all operands, "output=BSHD" for one of them, or several joined by commas, the later
/// wins: "BHSD,query=BSHD,output=BSHD".
/// Errors: "contract.unknown_value" at `where`.
void state_layouts(Contract& contract, std::string_view text, const std::string& where);
/// The same text, as short as it is: "BHSD", "BHSD,output=BSHD".
std::string layouts_text(const Contract& contract);
CausalAlignment parse_causal_alignment(std::string_view text, const std::string& where);
EmptyRow parse_empty_row(std::string_view text, const std::string& where);
LseBase parse_lse_base(std::string_view text, const std::string& where);
/// Also "inf".
LseEmpty parse_lse_empty(std::string_view text, const std::string& where);
/// Also the packed words "HT" and "TH".
LseLayout parse_lse_layout(std::string_view text, const std::string& where);
/// "contiguous", "interleaved" or a comma-separated list "0,0,1,1".
HeadMap parse_head_map(std::string_view text, const std::string& where);
/// "default" gives nullopt; otherwise an exact positive number.
/// Errors: those of parse_rational, "contract.scale_not_positive".
std::optional<Rational> parse_scale(std::string_view text, const std::string& where);
/// "LEFT,RIGHT", each -1 or more. Errors: "contract.window".
Window parse_window(std::string_view text, const std::string& where);

/// Checks what can be checked without tensors.
/// Errors: InputError "contract.scale_not_positive", "contract.window",
/// "contract.softcap_negative", "contract.head_map_entry", "contract.layout_heads",
/// each at the field's name.
void validate(const Contract& contract);

/// One sentence per rule, for people: "causal, bottom right; scale 1/sqrt(64)".
/// `key_size` is dk, or 0 if unknown.
std::string describe(const Contract& contract, std::int64_t key_size = 0);

}  // namespace gqa
