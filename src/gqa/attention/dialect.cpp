#include "gqa/attention/dialect.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "gqa/error.hpp"
#include "gqa/near_words.hpp"

namespace gqa {
namespace {

constexpr std::array table{
    Dialect{"onnx", CausalAlignment::onnx, EmptyRow::zero, "", WindowCount::none,
            "ONNX Attention, opset 23 to 25, and onnx/reference/ops/op_attention.py"},
    // torch.ones(L, S).tril(diagonal=0); rows that are masked altogether become zero in
    // _safe_softmax (2.5 and later).
    Dialect{"pytorch", CausalAlignment::top_left, EmptyRow::zero, "", WindowCount::none,
            "documentation of torch.nn.functional.scaled_dot_product_attention; "
            "aten/src/ATen/native/transformers/attention.cpp, _safe_softmax"},
    // "aligned to the bottom right corner", "if the row of the mask is all zero, the output
    // will be zero", keys i + seqlen_k - seqlen_q - left to ... + right "inclusive".
    Dialect{"flash-attention", CausalAlignment::bottom_right, EmptyRow::zero, "", WindowCount::none,
            "flash_attn/flash_attn_interface.py, flash_attn_func, from 2.1 on"},
    // Masks are tril and query_pos <= key_pos + left, query_pos >= key_pos - right; masked
    // logits become -0.7 times the largest finite number, so that an empty row is a softmax
    // of equal numbers. One integer stands for both sides of the window.
    Dialect{"jax", CausalAlignment::top_left, EmptyRow::mean, "local_window_size",
            WindowCount::both_sides,
            "jax/_src/nn/functions.py, dot_product_attention, _get_window_mask, "
            "_get_large_negative"},
    // kv_idx <= q_idx and kv_idx > q_idx - sliding_window, q_idx counted from the cache on.
    Dialect{"transformers", CausalAlignment::bottom_right, EmptyRow::zero, "sliding_window",
            WindowCount::with_own,
            "src/transformers/masking_utils.py, causal_mask_function, sliding_window_overlay"},
    // A key at p0 is hidden from a query at p1 where p1 - p0 >= n_swa; positions go on behind
    // the cache.
    Dialect{"llama.cpp", CausalAlignment::bottom_right, EmptyRow::zero, "n_swa",
            WindowCount::with_own, "src/llama-hparams.cpp, is_masked_swa, LLAMA_SWA_TYPE_STANDARD"},
    Dialect{"onnxruntime-gqa", CausalAlignment::bottom_right, EmptyRow::zero, "local_window_size",
            WindowCount::with_own,
            "microsoft/onnxruntime pull request 25927: \"including the current token\""},
    Dialect{"onnxruntime-gqa@old", CausalAlignment::bottom_right, EmptyRow::zero,
            "local_window_size", WindowCount::without_own,
            "microsoft/onnxruntime pull request 25927: \"previously, local window size of GQA op "
            "excluded the current token\""},
};

Window window_of(WindowCount count, std::int64_t size) {
  if (size < 0) return {};
  switch (count) {
    case WindowCount::none:
      break;
    case WindowCount::with_own:
      return {size - 1, 0};
    case WindowCount::without_own:
      return {size, 0};
    case WindowCount::both_sides:
      return {size, size};
  }
  return {};
}

void require_word(const Contract& contract, const Dialect* dialect) {
  const std::string& word = contract.window_word->word;
  if (dialect != nullptr && dialect->window_word == word) return;
  std::vector<std::string_view> knowing;
  for (const Dialect& other : table) {
    if (other.window_word == word) knowing.push_back(other.name);
  }
  throw InputError(
      "contract.window_word", word,
      fmt::format("{}; {} know it, or write a window LEFT,RIGHT",
                  dialect == nullptr ? std::string("means nothing without a dialect")
                                     : fmt::format("is no word of dialect {}", dialect->name),
                  fmt::join(knowing, ", ")));
}

}  // namespace

std::span<const Dialect> dialects() {
  return table;
}

const Dialect* find_dialect(std::string_view name) {
  const auto found = std::ranges::find(table, name, &Dialect::name);
  return found == table.end() ? nullptr : &*found;
}

const Dialect& parse_dialect(std::string_view name, const std::string& where) {
  std::vector<std::string_view> names;
  for (const Dialect& dialect : table) {
    if (plain_spelling(dialect.name) == plain_spelling(name)) return dialect;
    names.push_back(dialect.name);
  }
  throw InputError("contract.unknown_value", where, unknown_word(name, names));
}

std::vector<std::string_view> window_words() {
  std::vector<std::string_view> words;
  for (const Dialect& dialect : table) {
    if (dialect.window_word.empty()) continue;
    if (std::ranges::count(words, dialect.window_word) == 0) words.push_back(dialect.window_word);
  }
  return words;
}

void state_window(Contract& contract, std::string_view word, std::int64_t size,
                  const std::string& where) {
  if (size < -1 || size == 0) {
    throw InputError(
        "contract.window", where,
        fmt::format("is {}; write a positive number of keys or -1 for unbounded", size));
  }
  contract.window_word = WindowWord{std::string(word), size};
}

Contract resolve_dialect(Contract contract) {
  const Dialect* dialect =
      contract.dialect.empty() ? nullptr : &parse_dialect(contract.dialect, "dialect");
  if (contract.window_word) {
    require_word(contract, dialect);
    contract.window = window_of(dialect->window_count, contract.window_word->size);
    contract.window_word.reset();
  }
  if (dialect == nullptr) return contract;
  if (!contract.stated.causal_alignment) contract.causal_alignment = dialect->causal_alignment;
  if (!contract.stated.empty_row) contract.empty_row = dialect->empty_row;
  contract.stated = {true, true};
  return contract;
}

}  // namespace gqa
