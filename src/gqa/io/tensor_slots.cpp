#include "gqa/io/tensor_slots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <optional>
#include <utility>

#include "gqa/attention/added_operands.hpp"
#include "gqa/attention/problem_tensor_names.hpp"
#include "gqa/error.hpp"
#include "gqa/io/json.hpp"
#include "gqa/io/natural_order.hpp"

namespace gqa {
namespace {

using Tensors = std::map<std::string, TypedTensor>;

constexpr const char* mode_name = "qk_matmul_output_mode";
// A mask [B, S], which stands as attn_mask [B, 1, 1, S].
constexpr const char* padding_name = "padding_mask";

struct Synonym {
  std::string_view word;  // in small letters
  std::string_view name;
};

// Words in use, each where it means the tensor itself: ONNX's inputs and outputs, the arguments of
// FlashAttention and PyTorch, the variables of Transformers ("query_states"), modules that hooks
// record ("q_proj"), LLaMA's xq, Megatron's query_layer and context_layer, ggml's Qcur and kqv_out.
// o_proj is not among them: a hook records what comes behind that projection.
constexpr std::array synonyms{
    Synonym{"q", "query"},
    Synonym{"queries", "query"},
    Synonym{"q_proj", "query"},
    Synonym{"query_states", "query"},
    Synonym{"query_layer", "query"},
    Synonym{"xq", "query"},
    Synonym{"qcur", "query"},
    Synonym{"k", "key"},
    Synonym{"keys", "key"},
    Synonym{"k_proj", "key"},
    Synonym{"key_states", "key"},
    Synonym{"key_layer", "key"},
    Synonym{"xk", "key"},
    Synonym{"kcur", "key"},
    Synonym{"k_cache", "key"},
    Synonym{"v", "value"},
    Synonym{"values", "value"},
    Synonym{"v_proj", "value"},
    Synonym{"value_states", "value"},
    Synonym{"value_layer", "value"},
    Synonym{"xv", "value"},
    Synonym{"vcur", "value"},
    Synonym{"v_cache", "value"},
    Synonym{"o", "output"},
    Synonym{"out", "output"},
    Synonym{"y", "output"},
    Synonym{"attn_output", "output"},
    Synonym{"attn_out", "output"},
    Synonym{"attention_output", "output"},
    Synonym{"context", "output"},
    Synonym{"context_layer", "output"},
    Synonym{"kqv_out", "output"},
    Synonym{"mask", "attn_mask"},
    Synonym{"attention_mask", "attn_mask"},
    Synonym{"attn_bias", "attn_mask"},
    Synonym{"cache_seqlens", "nonpad_kv_seqlen"},
    Synonym{"seqused_k", "nonpad_kv_seqlen"},
    Synonym{"sinks", "sink"},
    Synonym{"s_aux", "sink"},
    Synonym{"softmax_lse", "lse"},
    Synonym{"logsumexp", "lse"},
    Synonym{"past_keys", "past_key"},
    Synonym{"past_values", "past_value"},
    Synonym{"do", "grad_output"},
    Synonym{"dout", "grad_output"},
    Synonym{"dq", "grad_query"},
    Synonym{"dk", "grad_key"},
    Synonym{"dv", "grad_value"},
};

const NamedProblemTensor* slot_of(std::string_view name) {
  const NamedProblemTensor* found = nullptr;
  for_each_tensor([&](const NamedProblemTensor& tensor) {
    if (tensor.name == name) found = &tensor;
  });
  return found;
}

// A name in a file, read as a prefix and a word.
struct Reading {
  std::string prefix;
  std::string name;  // of the contract; empty: left out
};

std::optional<std::string> meaning_of(std::string_view word, const TensorChoice& choice) {
  if (std::ranges::find(choice.left_out, word) != choice.left_out.end()) return "";
  for (const auto& [name, stated] : choice.named) {
    if (stated == word) return name;
  }
  const std::string_view known = contract_name(word);
  if (known.empty()) return std::nullopt;
  return std::string(known);
}

bool is_number_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// May a prefix end before name[at]? "_" and "-" are parts of words: they separate behind a number.
bool separates(std::string_view name, std::size_t at) {
  const char c = name[at];
  if (c == '.' || c == '/' || c == ':') return true;
  return (c == '_' || c == '-') && at > 0 && is_number_digit(name[at - 1]);
}

// The longest end of the name that means something, whole names first; then without "-NUMBER".
std::optional<Reading> read_name(std::string_view name, const TensorChoice& choice) {
  if (auto whole = meaning_of(name, choice)) return Reading{"", std::move(*whole)};
  for (std::size_t at = 0; at + 1 < name.size(); ++at) {
    if (!separates(name, at)) continue;
    if (auto word = meaning_of(name.substr(at + 1), choice)) {
      return Reading{std::string(name.substr(0, at)), std::move(*word)};
    }
  }
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || dash + 1 == name.size()) return std::nullopt;
  const std::string_view number = name.substr(dash + 1);
  if (!std::ranges::all_of(number, is_number_digit)) return std::nullopt;
  if (auto word = meaning_of(name.substr(0, dash), choice)) {
    return Reading{std::string(number), std::move(*word)};
  }
  return std::nullopt;
}

int read_mode(const TypedTensor& tensor, const std::string& where) {
  const bool single = float_format(tensor.type) == nullptr && tensor.size() == 1;
  const std::int64_t mode = single ? decode_integers(tensor, where).data().front() : -1;
  if (mode < 0 || mode > 3) {
    throw InputError("recording.qk_matmul_output_mode", where,
                     fmt::format("{} of shape {} does not hold one integer from 0 to 3",
                                 name(tensor.type), to_text(tensor.shape)));
  }
  return static_cast<int>(mode);
}

[[noreturn]] void unknown_tensor(const std::string& place, const std::string& name,
                                 const std::string& held) {
  throw InputError("recording.unknown_tensor", place,
                   fmt::format("the tensor is not part of an attention problem; the file holds {}; "
                               "say which it is with --tensor output={}, or leave it out with "
                               "--tensor none={}",
                               held, printable(name), printable(name)));
}

void require_choice_found(const Tensors& tensors, const TensorChoice& choice) {
  const auto is_there = [&tensors](const std::string& stated) {
    return std::ranges::any_of(tensors, [&stated](const auto& entry) {
      const std::string& name = entry.first;
      return name == stated || (name.size() > stated.size() && name.ends_with(stated));
    });
  };
  const auto require = [&](const std::string& role, const std::string& stated) {
    if (is_there(stated)) return;
    throw InputError("recording.no_such_tensor",
                     fmt::format("--tensor {}={}", role, printable(stated)),
                     fmt::format("the file holds {}", held_text(tensors)));
  };
  for (const auto& [role, stated] : choice.named) require(role, stated);
  for (const std::string& stated : choice.left_out) require("none", stated);
}

std::shared_ptr<const TypedTensor> padding_mask_of(const TypedTensor& tensor,
                                                   const std::string& place) {
  try {
    return padding_mask(tensor);
  } catch (const InputError& error) {
    throw InputError(error.code(), place, error.message());
  }
}

bool before(const PrefixedTensors& a, const PrefixedTensors& b) {
  return natural_less(a.prefix, b.prefix);
}

bool has_operands(const ProblemTensors& tensors) {
  return tensors.query || tensors.key || tensors.value;
}

// A mask beside many layers is that of each.
void share_inputs(std::vector<PrefixedTensors>& recordings) {
  const auto common = std::ranges::find(recordings, "", &PrefixedTensors::prefix);
  if (recordings.size() < 2 || common == recordings.end() || has_operands(common->tensors)) return;
  const ProblemTensors shared = common->tensors;
  recordings.erase(common);
  for (PrefixedTensors& recording : recordings) {
    for (const auto& known : {input_tensors(), output_tensors()}) {
      for (const NamedProblemTensor& tensor : known) {
        auto& own = recording.tensors.*(tensor.field);
        if (!own) own = shared.*(tensor.field);
      }
    }
  }
}

}  // namespace

std::string_view contract_name(std::string_view name) {
  std::string word(name);
  std::ranges::transform(word, word.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (word == mode_name) return mode_name;
  if (word == padding_name) return padding_name;
  if (const NamedProblemTensor* slot = slot_of(word)) return slot->name;
  const auto* found = std::ranges::find(synonyms, word, &Synonym::word);
  return found == synonyms.end() ? std::string_view() : found->name;
}

std::string held_text(const Tensors& tensors) {
  constexpr std::size_t most = 12;
  std::string text;
  std::size_t count = 0;
  for (const auto& [name, tensor] : tensors) {
    if (++count > most) continue;
    text += fmt::format("{}{} {} {}", text.empty() ? "" : ", ", printable(name),
                        to_text(tensor.shape), gqa::name(tensor.type));
  }
  if (count > most) text += fmt::format(" and {} more", count - most);
  return text.empty() ? "nothing" : text;
}

std::vector<PrefixedTensors> assign_tensors(Tensors&& tensors, const std::string& where,
                                            const TensorChoice& choice) {
  require_choice_found(tensors, choice);
  const std::string held = held_text(tensors);
  std::vector<PrefixedTensors> recordings;
  for (auto& [name, tensor] : tensors) {
    const std::string place = fmt::format("{}: {}", where, printable(name));
    const std::optional<Reading> reading = read_name(name, choice);
    if (!reading) unknown_tensor(place, name, held);
    if (reading->name.empty()) continue;
    auto own = std::ranges::find(recordings, reading->prefix, &PrefixedTensors::prefix);
    if (own == recordings.end()) own = recordings.insert(own, PrefixedTensors{reading->prefix, {}});
    if (reading->name == mode_name) {
      own->tensors.qk_matmul_output_mode = read_mode(tensor, place);
      continue;
    }
    const bool is_padding = reading->name == padding_name;
    auto& field =
        is_padding ? own->tensors.attn_mask : own->tensors.*(slot_of(reading->name)->field);
    if (field) {
      throw InputError("recording.tensor_stated_twice", place,
                       "the tensor is there under another name too; leave one of them out with "
                       "--tensor none=NAME");
    }
    field = is_padding ? padding_mask_of(tensor, place)
                       : std::make_shared<const TypedTensor>(std::move(tensor));
  }
  std::ranges::sort(recordings, before);
  share_inputs(recordings);
  if (recordings.empty()) recordings.emplace_back();
  return recordings;
}

}  // namespace gqa
