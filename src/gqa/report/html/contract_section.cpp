#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gqa/report/html/number_text.hpp"
#include "gqa/report/html/sections.hpp"
#include "gqa/report/html/table.hpp"

namespace gqa::html {
namespace {

std::string sizes(const Dimensions& d) {
  std::string text = fmt::format("{}; {} on {}", counted(d.batch, "batch entry"),
                                 counted(d.q_heads, "query head"), counted(d.kv_heads, "KV head"));
  text += fmt::format("; T = {} query rows, {} keys", grouped(d.queries), grouped(d.keys));
  if (d.past > 0) text += fmt::format(" (the first {} of them past)", grouped(d.past));
  return text + fmt::format("; keys of {} numbers, values of {}", d.key_size, d.value_size);
}

std::string head_map(const Contract& contract, const Dimensions& d) {
  switch (contract.head_map.kind) {
    case HeadMapKind::contiguous:
      return d.kv_heads == 0
                 ? "contiguous"
                 : fmt::format("contiguous: query head h reads KV head \u230Ah / {}\u230B",
                               d.q_heads / d.kv_heads);
    case HeadMapKind::interleaved:
      return fmt::format("interleaved: query head h reads KV head h mod {}", d.kv_heads);
    case HeadMapKind::explicit_list:
      return fmt::format("as listed: {}", fmt::join(contract.head_map.list, ", "));
  }
  return "";
}

std::string score(const Contract& contract, const Dimensions& d, const OperandsPresent& operands) {
  std::string text =
      contract.scale ? fmt::format("{} \u00D7 \u27E8query, key\u27E9", to_text(*contract.scale))
                     : fmt::format("\u27E8query, key\u27E9 / \u221A{}, the exact root", d.key_size);
  if (contract.softcap != 0) {
    const std::string cap = to_text(contract.softcap);
    text += fmt::format("; then the softcap {} \u00D7 tanh(score / {})", cap, cap);
  }
  if (operands.bias) text += "; plus the mask's number";
  if (operands.slopes) text += "; minus the slope times the distance (ALiBi)";
  return text;
}

std::string position(const Contract& contract) {
  switch (contract.causal_alignment) {
    case CausalAlignment::top_left:
      return "row i stands at key i (top left)";
    case CausalAlignment::bottom_right:
      return "the last row stands at the last key (bottom right)";
    case CausalAlignment::onnx:
      return "row i stands at key i behind the past keys, or, with lengths, the last row at the "
             "last key (the ONNX rule)";
  }
  return "";
}

std::string side(std::int64_t count, const char* where) {
  return count < 0 ? fmt::format("all to the {}", where)
                   : fmt::format("{} to the {}", count, where);
}

std::string visible(const Contract& contract, const OperandsPresent& operands) {
  std::vector<std::string> rules;
  if (contract.causal) rules.push_back("keys up to the row's own position");
  if (!contract.window.is_unbounded()) {
    rules.push_back(fmt::format("keys of a window, {} and {}", side(contract.window.left, "left"),
                                side(contract.window.right, "right")));
  }
  if (operands.lengths) {
    rules.push_back("keys before nonpad_kv_seqlen of the batch entry");
  }
  if (operands.mask) rules.push_back("keys that attn_mask allows");
  if (rules.empty()) return "every key";
  const bool positioned = contract.causal || !contract.window.is_unbounded();
  return fmt::format("{}{}", fmt::join(rules, ", and "),
                     positioned ? "; " + position(contract) : "");
}

std::string weights(const OperandsPresent& operands) {
  const bool sink = operands.sink;
  return sink ? "softmax over the visible keys and the head's sink, a key without a value"
              : "softmax over the visible keys";
}

std::string empty_row(EmptyRow policy) {
  switch (policy) {
    case EmptyRow::zero:
      return "zero";
    case EmptyRow::nan:
      return "NaN";
    case EmptyRow::any:
      return "anything";
    case EmptyRow::mean:
      return "the mean of all values";
  }
  return "";
}

}  // namespace

Markup contract_section(const Contract& contract, const Dimensions& d,
                        const OperandsPresent& operands) {
  std::vector<std::pair<std::string, Markup>> rules{
      {"Sizes", text(sizes(d))},
      {"Head map", text(head_map(contract, d))},
      {"Score", text(score(contract, d, operands))},
      {"Visible keys", text(visible(contract, operands))},
      {"Weights", text(weights(operands))},
      {"Row without keys", text(empty_row(contract.empty_row))}};
  if (!contract.dialect.empty()) rules.emplace_back("Dialect", foreign(contract.dialect));
  return definitions(rules);
}

}  // namespace gqa::html
