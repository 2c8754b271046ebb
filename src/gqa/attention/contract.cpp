#include "gqa/attention/contract.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <span>

#include "gqa/error.hpp"
#include "gqa/near_words.hpp"

namespace gqa {
namespace {

template <class Enum>
struct Named {
  std::string_view name;
  Enum value;
};

constexpr std::array layouts{
    Named<Layout>{"BHSD", Layout::bhsd}, Named<Layout>{"BSHD", Layout::bshd},
    Named<Layout>{"SBHD", Layout::sbhd}, Named<Layout>{"BSH", Layout::bsh},
    Named<Layout>{"THD", Layout::thd},   Named<Layout>{"HSD", Layout::hsd}};
// As other systems write them: T for the positions of queries, N for heads (or for positions, where
// H stands beside it).
constexpr std::array other_layouts{
    Named<Layout>{"BHTD", Layout::bhsd}, Named<Layout>{"BTHD", Layout::bshd},
    Named<Layout>{"TBHD", Layout::sbhd}, Named<Layout>{"BNSD", Layout::bhsd},
    Named<Layout>{"BSND", Layout::bshd}, Named<Layout>{"SBND", Layout::sbhd},
    Named<Layout>{"BNTD", Layout::bhsd}, Named<Layout>{"BTND", Layout::bshd},
    Named<Layout>{"HTD", Layout::hsd},   Named<Layout>{"HND", Layout::hsd},
    Named<Layout>{"TND", Layout::thd},   Named<Layout>{"NHD", Layout::thd}};
constexpr std::array operand_names{
    Named<Operand>{"query", Operand::query}, Named<Operand>{"key", Operand::key},
    Named<Operand>{"value", Operand::value}, Named<Operand>{"output", Operand::output}};
constexpr std::array head_map_kinds{Named<HeadMapKind>{"contiguous", HeadMapKind::contiguous},
                                    Named<HeadMapKind>{"interleaved", HeadMapKind::interleaved},
                                    Named<HeadMapKind>{"explicit", HeadMapKind::explicit_list}};
constexpr std::array alignments{
    Named<CausalAlignment>{"top_left", CausalAlignment::top_left},
    Named<CausalAlignment>{"bottom_right", CausalAlignment::bottom_right},
    Named<CausalAlignment>{"onnx", CausalAlignment::onnx}};
constexpr std::array empty_rows{
    Named<EmptyRow>{"zero", EmptyRow::zero}, Named<EmptyRow>{"nan", EmptyRow::nan},
    Named<EmptyRow>{"any", EmptyRow::any}, Named<EmptyRow>{"mean", EmptyRow::mean}};
constexpr std::array other_empty_rows{Named<EmptyRow>{"zeros", EmptyRow::zero}};

// The first word of each value is its name.
constexpr std::array lse_bases{Named<LseBase>{"e", LseBase::e}, Named<LseBase>{"2", LseBase::two}};
constexpr std::array lse_empties{Named<LseEmpty>{"-inf", LseEmpty::minus_infinity},
                                 Named<LseEmpty>{"+inf", LseEmpty::plus_infinity},
                                 Named<LseEmpty>{"inf", LseEmpty::plus_infinity}};
constexpr std::array lse_layouts{
    Named<LseLayout>{"BHT", LseLayout::bht}, Named<LseLayout>{"BTH", LseLayout::bth},
    Named<LseLayout>{"HT", LseLayout::bht}, Named<LseLayout>{"TH", LseLayout::bth}};

template <class Enum>
std::string_view name_in(std::span<const Named<Enum>> table, Enum value) {
  for (const auto& entry : table) {
    if (entry.value == value) return entry.name;
  }
  return "?";
}

// A word in any spelling (letter case, "-" for "_"), or one of those that others write for it.
template <class Enum>
Enum parse_in(std::span<const Named<Enum>> table, std::string_view text, const std::string& where,
              std::span<const Named<Enum>> also = {}) {
  std::vector<std::string_view> names;
  for (const auto& entry : table) names.push_back(entry.name);
  for (const auto& words : {table, also}) {
    for (const auto& entry : words) {
      if (plain_spelling(entry.name) == plain_spelling(text)) return entry.value;
    }
  }
  throw InputError("contract.unknown_value", where, unknown_word(text, names));
}

// The integers of a comma-separated list, or nullopt.
std::optional<std::vector<std::int64_t>> parse_integers(std::string_view text) {
  std::vector<std::int64_t> values;
  while (true) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) return std::nullopt;
    values.push_back(value);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) return values;
    if (text.front() != ',') return std::nullopt;
    text.remove_prefix(1);
  }
}

}  // namespace

std::string_view name(Layout value) {
  return name_in<Layout>(layouts, value);
}
std::string_view name(Operand value) {
  return name_in<Operand>(operand_names, value);
}
std::string_view name(HeadMapKind value) {
  return name_in<HeadMapKind>(head_map_kinds, value);
}
std::string_view name(CausalAlignment value) {
  return name_in<CausalAlignment>(alignments, value);
}
std::string_view name(EmptyRow value) {
  return name_in<EmptyRow>(empty_rows, value);
}
std::string_view name(LseBase value) {
  return name_in<LseBase>(lse_bases, value);
}
std::string_view name(LseEmpty value) {
  return name_in<LseEmpty>(lse_empties, value);
}
std::string_view name(LseLayout value) {
  return name_in<LseLayout>(lse_layouts, value);
}

Layout parse_layout(std::string_view text, const std::string& where) {
  return parse_in<Layout>(layouts, text, where, other_layouts);
}
bool Contract::has_one_layout() const {
  return std::ranges::all_of(
      operands, [this](Operand operand) { return layout_of(operand) == layout_of(operands[0]); });
}

void state_layouts(Contract& contract, std::string_view text, const std::string& where) {
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      contract.layout = parse_layout(part, where);
      contract.own_layouts = {};
    } else {
      const auto operand = parse_in<Operand>(operand_names, part.substr(0, equals), where);
      contract.own_layouts[static_cast<std::size_t>(operand)] =
          parse_layout(part.substr(equals + 1), where);
    }
    if (comma == std::string_view::npos) return;
    text.remove_prefix(comma + 1);
  }
}

std::string layouts_text(const Contract& contract) {
  std::string text(
      name(contract.has_one_layout() ? contract.layout_of(Operand::query) : contract.layout));
  if (contract.has_one_layout()) return text;
  for (const Operand operand : operands) {
    const Layout own = contract.layout_of(operand);
    if (own != contract.layout) text += fmt::format(",{}={}", name(operand), name(own));
  }
  return text;
}

CausalAlignment parse_causal_alignment(std::string_view text, const std::string& where) {
  return parse_in<CausalAlignment>(alignments, text, where);
}
EmptyRow parse_empty_row(std::string_view text, const std::string& where) {
  return parse_in<EmptyRow>(empty_rows, text, where, other_empty_rows);
}
LseBase parse_lse_base(std::string_view text, const std::string& where) {
  return parse_in<LseBase>(lse_bases, text, where);
}
LseEmpty parse_lse_empty(std::string_view text, const std::string& where) {
  return parse_in<LseEmpty>(lse_empties, text, where);
}
LseLayout parse_lse_layout(std::string_view text, const std::string& where) {
  return parse_in<LseLayout>(lse_layouts, text, where);
}

HeadMap parse_head_map(std::string_view text, const std::string& where) {
  if (auto list = parse_integers(text)) return {HeadMapKind::explicit_list, std::move(*list)};
  constexpr std::array<std::string_view, 2> names{"contiguous", "interleaved"};
  const std::string word = plain_spelling(text);
  if (word == names[0]) return {HeadMapKind::contiguous, {}};
  if (word == names[1]) return {HeadMapKind::interleaved, {}};
  const std::string near = did_you_mean(near_words(text, names));
  throw InputError("contract.unknown_value", where,
                   fmt::format("\"{}\" is not a head map; {}{}rite contiguous (query heads 0,0,1,1 "
                               "of four on two), interleaved (0,1,0,1) or such a list itself",
                               text, near, near.empty() ? "w" : " W"));
}

std::optional<Rational> parse_scale(std::string_view text, const std::string& where) {
  if (text == "default") return std::nullopt;
  if (text.find("sqrt") != text.npos) {
    throw InputError(
        "contract.scale", where,
        fmt::format("\"{}\": write default for 1/sqrt(dk); any other scale is an exact "
                    "number such as 0.125, 1/8 or 0x1p-3",
                    text));
  }
  Rational scale = parse_rational(text, where);
  if (scale <= 0) {
    throw InputError("contract.scale_not_positive", where,
                     fmt::format("the scale is {}; it must be positive", text));
  }
  return scale;
}

Window parse_window(std::string_view text, const std::string& where) {
  const auto sides = parse_integers(text);
  if (!sides || sides->size() != 2 || (*sides)[0] < -1 || (*sides)[1] < -1) {
    const bool is_one = sides && sides->size() == 1 && (*sides)[0] > 0;
    throw InputError(
        "contract.window", where,
        fmt::format("\"{}\" is not a window; write LEFT,RIGHT, each a number of keys or -1 for "
                    "unbounded{}",
                    text,
                    is_one ? fmt::format(": {},0 for the query's own position and {} before it",
                                         (*sides)[0] - 1, (*sides)[0] - 1)
                           : ""));
  }
  return {(*sides)[0], (*sides)[1]};
}

void validate(const Contract& contract) {
  if (contract.scale && *contract.scale <= 0) {
    throw InputError("contract.scale_not_positive", "scale",
                     fmt::format("the scale is {}; it must be positive", to_text(*contract.scale)));
  }
  if (contract.window.left < -1 || contract.window.right < -1) {
    throw InputError("contract.window", "window",
                     fmt::format("[{}, {}] has a side below -1; -1 means unbounded",
                                 contract.window.left, contract.window.right));
  }
  if (contract.softcap < 0) {
    throw InputError("contract.softcap_negative", "softcap",
                     fmt::format("the softcap is {}; it must be 0 (off) or positive",
                                 to_text(contract.softcap)));
  }
  for (const std::int64_t entry : contract.head_map.list) {
    if (entry < 0) {
      throw InputError("contract.head_map_entry", "head_map",
                       fmt::format("the list names KV head {}", entry));
    }
  }
  const bool folded = std::ranges::any_of(operands, [&contract](Operand operand) {
    return contract.layout_of(operand) == Layout::bsh;
  });
  if (folded && !(contract.q_num_heads && contract.kv_num_heads)) {
    throw InputError("contract.layout_heads", "layout",
                     "layout BSH folds the heads into the last axis and needs q_num_heads and "
                     "kv_num_heads");
  }
}

std::string describe(const Contract& contract, std::int64_t key_size) {
  std::vector<std::string> parts;
  if (contract.head_map.kind == HeadMapKind::explicit_list) {
    parts.push_back(fmt::format("head map [{}]", fmt::join(contract.head_map.list, ",")));
  } else {
    parts.push_back(fmt::format("{} head map", name(contract.head_map.kind)));
  }
  parts.push_back(contract.causal ? fmt::format("causal ({})", name(contract.causal_alignment))
                                  : std::string("not causal"));
  if (!contract.window.is_unbounded()) {
    parts.push_back(fmt::format("window [{}, {}]", contract.window.left, contract.window.right));
  }
  if (contract.scale) {
    parts.push_back(fmt::format("scale {}", to_text(*contract.scale)));
  } else if (key_size > 0) {
    parts.push_back(fmt::format("scale 1/sqrt({})", key_size));
  } else {
    parts.push_back("scale 1/sqrt(dk)");
  }
  if (contract.softcap != 0) parts.push_back(fmt::format("softcap {}", to_text(contract.softcap)));
  if (contract.empty_row != EmptyRow::zero) {
    parts.push_back(fmt::format("empty rows {}", name(contract.empty_row)));
  }
  if (contract.lse.base == LseBase::two) parts.push_back("lse in base 2");
  if (contract.lse.empty == LseEmpty::plus_infinity) parts.push_back("lse +inf without keys");
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace gqa
