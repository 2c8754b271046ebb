#include "arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "decimal_integer.hpp"
#include "gqa/attention/added_operands.hpp"
#include "gqa/attention/attention_problem.hpp"
#include "gqa/attention/dialect.hpp"
#include "gqa/attention/problem_tensor_names.hpp"
#include "gqa/attention/recorded_forms.hpp"
#include "gqa/audit/decide/stated_tolerance.hpp"
#include "gqa/error.hpp"
#include "gqa/io/contract_json.hpp"
#include "gqa/io/file.hpp"
#include "gqa/io/json.hpp"
#include "gqa/near_words.hpp"
#include "taken_words.hpp"

namespace gqa::program {
namespace {

constexpr const char* contract_group = "Contract (a flag wins over the file)";
constexpr const char* tolerance_group =
    "Tolerance (default: what rounding of the file's types explains)";

// As the flag alone, and as its absence.
constexpr std::array<std::string_view, 5> causal_alone{"dialect", "true", "yes", "on", "1"};
constexpr std::array<std::string_view, 2> no_softcap{"off", "none"};
constexpr std::array<std::string_view, 4> causal_off{"off", "false", "no", "0"};

// As PyTorch and others call the corners; a contract in a file has its own words alone.
std::string corner_of(const std::string& word) {
  const std::string meant = plain_spelling(word);
  if (meant == "upperleft") return "top_left";
  return meant == "lowerright" ? "bottom_right" : word;
}

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, plain_spelling(word)) != words.end();
}

// Alone, the flag says that there is a diagonal; a dialect says where.
void apply_causal(const std::string& text, Contract& contract) {
  contract.causal = !is_one_of(text, causal_off);
  const bool is_alone = is_one_of(text, causal_alone);
  if (!contract.causal || (is_alone && !contract.dialect.empty())) return;
  contract.causal_alignment = is_alone ? CausalAlignment::bottom_right
                                       : parse_causal_alignment(corner_of(text), "--causal");
  contract.stated.causal_alignment = true;
}

// A word that no problem could make right is wrong usage: told once, before any file is read. Other
// values are told with the file that they were meant for.
template <class Parse>
auto is_known_to(Parse parse) {
  return [parse](const std::string& word) -> std::string {
    try {
      parse(word);
      return "";
    } catch (const InputError& error) {
      return error.message();
    }
  };
}

// "; did you mean output?", or nothing.
std::string meant_role(const std::string& role) {
  std::vector<std::string_view> names{"none"};
  for_each_tensor([&names](const NamedProblemTensor& tensor) { names.push_back(tensor.name); });
  const std::vector<std::string> near = near_words(role, names);
  return near.empty() ? "" : "; " + did_you_mean(near);
}

void parse_causal(const std::string& word) {
  if (is_one_of(word, causal_alone) || is_one_of(word, causal_off)) return;
  try {
    parse_causal_alignment(corner_of(word), "--causal");
  } catch (const InputError& error) {
    throw InputError(error.code(), error.where(), error.message() + ", or off");
  }
}

}  // namespace

void ContractFlags::add_to(CLI::App& command) {
  const auto add = [&command](const std::string& flag, auto& value, const std::string& help) {
    return command.add_option(flag, value, help)->group(contract_group);
  };
  add("--contract", contract_.stated, "A JSON file with contract fields, or the JSON object itself")
      ->type_name("FILE");
  add("--layout", layout_,
      "Where the axes are: BHSD, BSHD, SBHD, BSH, THD, HSD; of one tensor: output=BSHD")
      ->type_name("L")
      ->check(is_known_to([](const std::string& word) {
        Contract contract;
        state_layouts(contract, word, "--layout");
      }))
      ->check(offers({"BHSD", "BSHD", "SBHD", "BSH", "THD", "HSD"}));
  add("--q-heads", q_heads_, "Query heads of a folded layout")
      ->type_name("N")
      ->check(decimal_integer(true));
  add("--kv-heads", kv_heads_, "KV heads of a folded layout")
      ->type_name("N")
      ->check(decimal_integer(true));
  add("--head-map", head_map_,
      "contiguous, interleaved, or the KV head of every query head: 0,0,1,1")
      ->type_name("MAP")
      ->check(offers({"contiguous", "interleaved"}));
  add("--scale", scale_, "default (1/sqrt(dk)) or an exact number: 0.125, 1/8, 0x1p-3")
      ->type_name("X");
  // A flag with a value takes it only behind "=", so that a path may follow --causal.
  command
      .add_flag("--causal{dialect}", causal_,
                "Query i sees keys up to its own position: =top_left counts positions from the "
                "first key (j <= i), =bottom_right back from the last (j <= i + S - T), =onnx from "
                "the cache on; =off; alone: as the dialect has it, bottom_right without one")
      ->group(contract_group)
      ->check(is_known_to(parse_causal))
      ->check(offers({"top_left", "bottom_right", "onnx", "off"}));
  auto* window =
      add("--window", window_, "Visible keys left and right of the position, -1 unbounded");
  window->type_name("LEFT,RIGHT");
  add("--softcap", softcap_, "Softcap c of the scores; 0 is off")->type_name("C");
  add("--empty-row", empty_row_,
      "What a row without visible keys holds: zero, nan, any, mean (of all values)")
      ->type_name("POLICY")
      ->check(is_known_to([](const std::string& word) { parse_empty_row(word, "--empty-row"); }))
      ->check(offers({"zero", "nan", "any", "mean"}));
  add("--lse-base", lse_base_, "The base of the logarithm that lse is: e, 2")
      ->type_name("BASE")
      ->check(is_known_to([](const std::string& word) { parse_lse_base(word, "--lse-base"); }))
      ->check(offers({"e", "2"}));
  add("--lse-empty", lse_empty_, "What lse holds where no key is visible: -inf, +inf")
      ->type_name("INF")
      ->check(is_known_to([](const std::string& word) { parse_lse_empty(word, "--lse-empty"); }))
      ->check(offers({"-inf", "+inf"}));
  add("--lse-layout", lse_layout_, "The axes of lse: BHT, BTH; of packed documents HT, TH")
      ->type_name("AXES")
      ->check(is_known_to([](const std::string& word) { parse_lse_layout(word, "--lse-layout"); }))
      ->check(offers({"BHT", "BTH", "HT", "TH"}));
  std::vector<std::string_view> names;
  for (const Dialect& dialect : dialects()) names.push_back(dialect.name);
  add("--dialect", dialect_,
      fmt::format("Defaults of a known system where nothing is stated: {}", fmt::join(names, ", ")))
      ->type_name("NAME")
      ->check(is_known_to([](const std::string& word) { parse_dialect(word, "--dialect"); }))
      ->check(offers(as_strings(names)));
  for (const std::string_view word : window_words()) {
    std::string flag = fmt::format("--{}", word);
    std::ranges::replace(flag, '_', '-');
    add(flag, window_words_[std::string(word)], "The window in the word of such a dialect")
        ->type_name("W")
        ->check(decimal_integer(true))
        ->excludes(window);
  }
}

void StatedContract::apply(Contract& contract) const {
  if (stated.empty()) return;
  const bool is_object = stated.starts_with("{");
  const std::string where = is_object ? "--contract" : stated;
  if (!object_) {
    object_ = parse_json_strictly(is_object ? stated : read_text_file(stated), where);
  }
  read_contract(*object_, contract, where);
}

void ContractFlags::apply(Contract& contract) const {
  contract_.apply(contract);
  if (layout_) state_layouts(contract, *layout_, "--layout");
  if (q_heads_) contract.q_num_heads = *q_heads_;
  if (kv_heads_) contract.kv_num_heads = *kv_heads_;
  if (head_map_) contract.head_map = parse_head_map(*head_map_, "--head-map");
  if (scale_) contract.scale = parse_scale(*scale_, "--scale");
  if (dialect_) contract.dialect = parse_dialect(*dialect_, "--dialect").name;
  if (causal_) apply_causal(*causal_, contract);
  if (window_) {
    contract.window = parse_window(*window_, "--window");
    contract.window_word.reset();
  }
  for (const auto& [word, size] : window_words_) {
    if (size) state_window(contract, word, *size, word);
  }
  if (softcap_) {
    const bool is_off = is_one_of(*softcap_, no_softcap);
    contract.softcap = is_off ? Rational(0) : parse_rational(*softcap_, "--softcap");
  }
  if (empty_row_) {
    contract.empty_row = parse_empty_row(*empty_row_, "--empty-row");
    contract.stated.empty_row = true;
  }
  if (lse_base_) contract.lse.base = parse_lse_base(*lse_base_, "--lse-base");
  if (lse_empty_) contract.lse.empty = parse_lse_empty(*lse_empty_, "--lse-empty");
  if (lse_layout_) contract.lse.layout = parse_lse_layout(*lse_layout_, "--lse-layout");
}

void OperandFlags::add_to(CLI::App& command) {
  const auto add = [&command](const char* flag, auto& value, const char* help) {
    return command.add_option(flag, value, help)->group(contract_group);
  };
  add("--lengths", lengths_, "Visible keys of every batch entry (nonpad_kv_seqlen)")
      ->type_name("N,...");
  add("--sink", sink_, "Logit of a sink for every query head, or one for all")->type_name("X,...");
  add("--alibi", alibi_, "ALiBi slopes: standard, or one number for every query head")
      ->type_name("SLOPES")
      ->check(offers({"standard"}));
  command
      .add_flag("--left-padding", left_padding_,
                "Lengths count keys from the end: what comes before them is padding")
      ->group(contract_group);
}

void OperandFlags::apply(ProblemTensors& tensors, const Contract& contract) const {
  if (!lengths_ && !sink_ && !alibi_ && !left_padding_) return;
  AddedOperands added;
  ProblemTensors bare = tensors;
  if (lengths_) {
    added.lengths = parse_lengths(*lengths_, "--lengths");
    bare.nonpad_kv_seqlen.reset();
  }
  if (sink_) {
    added.sink = parse_numbers(*sink_, "--sink");
    bare.sink.reset();
  }
  if (alibi_) {
    added.alibi_slopes = parse_slopes(*alibi_, "--alibi");
    bare.alibi_slopes.reset();
  }
  const PlainRecording plain = plain_recording(bare, contract);
  const Dimensions sizes = make_problem(plain.tensors, plain.contract).dimensions;
  add_operands(tensors, added, sizes);
  if (left_padding_) count_lengths_from_the_end(tensors, sizes);
}

void TensorFlags::add_to(CLI::App& command) {
  command
      .add_option(
          "--tensor", words_,
          "The tensor called TENSOR in the file, with or without its prefix, is NAME: query, "
          "key, value, output, attn_mask, ...; none=TENSOR leaves it out")
      ->type_name("NAME=TENSOR")
      ->group(contract_group)
      ->take_all()
      ->expected(1)
      ->allow_extra_args(false);
}

TensorChoice TensorFlags::choice() const {
  TensorChoice choice;
  for (const std::string& word : words_) {
    const std::size_t equals = word.find('=');
    const std::string role = word.substr(0, equals);
    if (equals == std::string::npos || equals + 1 == word.size() ||
        (role != "none" && contract_name(role).empty())) {
      throw InputError(
          "recording.tensor_flag", "--tensor",
          fmt::format("\"{}\" is not NAME=TENSOR with a name such as query, key, value, "
                      "output, attn_mask or none{}",
                      word, meant_role(role)));
    }
    const std::string tensor = word.substr(equals + 1);
    if (role == "none") {
      choice.left_out.push_back(tensor);
    } else {
      choice.named[std::string(contract_name(role))] = tensor;
    }
  }
  return choice;
}

void ToleranceFlags::add_to(CLI::App& command) {
  const auto add = [&command](const char* flag, auto& value, const std::string& help) {
    return command.add_option(flag, value, help)->group(tolerance_group);
  };
  auto* absolute = add("--atol", absolute_, "|output - reference| <= A + R |reference|");
  absolute->type_name("A");
  auto* relative = add("--rtol", relative_, "See --atol");
  relative->type_name("R");
  auto* ulps = add("--max-ulp", ulps_, "At most N ulp of the reference in the output's format");
  ulps->type_name("N")->excludes(absolute)->excludes(relative);
  auto* model = add("--model", model_,
                    fmt::format("What the rounding of a precision model explains: {} (default: "
                                "those of the file's types, from tight to loose)",
                                fmt::join(model_names(), ", ")));
  model->type_name("NAME")
      ->check(is_known_to([](const std::string& word) { parse_model(word, "--model"); }))
      ->check(offers(as_strings(model_names())))
      ->excludes(absolute)
      ->excludes(relative)
      ->excludes(ulps);
  add("--accept", accept_, "With a model: worst-case passes what only its worst case explains")
      ->type_name("worst-case")
      ->excludes(absolute)
      ->excludes(relative)
      ->excludes(ulps)
      ->transform(one_of({"worst-case"}));
}

std::optional<Tolerance> ToleranceFlags::tolerance() const {
  return stated_tolerance({absolute_, relative_, ulps_, model_, accept_worst_case()},
                          [](std::string_view word) {
                            std::string flag = fmt::format("--{}", word);
                            std::ranges::replace(flag, '_', '-');
                            return flag;
                          });
}

}  // namespace gqa::program
