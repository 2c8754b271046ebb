#include "gqa/attention/added_operands.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "gqa/attention/encoded_tensor.hpp"
#include "gqa/error.hpp"

namespace gqa {
namespace {

// "batch entry" of one, "batch entries" of several.
std::string several(std::string noun, std::int64_t count) {
  if (count == 1) return noun;
  if (!noun.ends_with('y')) return noun + "s";
  noun.pop_back();
  return noun + "ies";
}

template <class T>
std::vector<T> one_for_each(const std::vector<T>& given, std::int64_t count, const char* where,
                            const char* of) {
  const auto wanted = static_cast<std::size_t>(count);
  if (given.size() == wanted) return given;
  if (given.size() == 1) return std::vector<T>(wanted, given.front());
  throw InputError("contract.operand_count", where,
                   fmt::format("{} numbers for {} {}; write one for {}", given.size(), count,
                               several(of, count), count == 1 ? "it" : "each, or one for all"));
}

template <class T>
std::vector<T> numbers_in(std::string_view text, const std::string& where) {
  std::vector<T> numbers;
  while (true) {
    T number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const auto used = static_cast<std::size_t>(end - text.data());
    const bool ends_well = used == text.size() || text[used] == ',';
    bool usable = error == std::errc() && ends_well;
    if constexpr (std::is_floating_point_v<T>) usable = usable && std::isfinite(number);
    if (!usable) {
      throw InputError("contract.numbers", where,
                       fmt::format("\"{}\" does not begin with a number; write numbers joined by "
                                   "commas",
                                   text));
    }
    numbers.push_back(number);
    if (used == text.size()) return numbers;
    text.remove_prefix(used + 1);
  }
}

}  // namespace

std::vector<double> standard_alibi_slopes(std::int64_t heads) {
  std::int64_t power = 1;
  while (2 * power <= heads) power *= 2;
  std::vector<double> slopes;
  for (std::int64_t h = 0; h < heads; ++h) {
    const bool is_first = h < power;
    const std::int64_t numerator = is_first ? 8 * (h + 1) : 4 * (2 * (h - power) + 1);
    slopes.push_back(std::exp2(-static_cast<double>(numerator) / static_cast<double>(power)));
  }
  return slopes;
}

void add_operands(ProblemTensors& tensors, const AddedOperands& added, const Dimensions& sizes) {
  if (added.lengths) {
    const auto all = one_for_each(*added.lengths, sizes.batch, "lengths", "batch entry");
    tensors.nonpad_kv_seqlen = integer_tensor({sizes.batch}, all);
  }
  if (added.sink) {
    const auto all = one_for_each(*added.sink, sizes.q_heads, "sink", "query head");
    tensors.sink = encoded_tensor(ElementType::binary64, {sizes.q_heads}, all);
  }
  if (added.alibi_slopes) {
    const auto all = added.alibi_slopes->empty()
                         ? standard_alibi_slopes(sizes.q_heads)
                         : one_for_each(*added.alibi_slopes, sizes.q_heads, "alibi", "query head");
    tensors.alibi_slopes = encoded_tensor(ElementType::binary64, {sizes.q_heads}, all);
  }
}

std::shared_ptr<const TypedTensor> padding_mask(const TypedTensor& mask) {
  if (mask.shape.size() != 2) {
    throw InputError("contract.shape_rank", "padding_mask",
                     fmt::format("shape {} is not [B, S]", to_text(mask.shape)));
  }
  auto broadcast = std::make_shared<TypedTensor>(mask);
  broadcast->shape = {mask.shape[0], 1, 1, mask.shape[1]};
  return broadcast;
}

std::shared_ptr<const TypedTensor> left_padding_mask(const std::vector<std::int64_t>& lengths,
                                                     std::int64_t keys) {
  std::vector<char> visible;
  for (const std::int64_t length : lengths) {
    for (std::int64_t j = 0; j < keys; ++j) visible.push_back(j >= keys - length ? 1 : 0);
  }
  return boolean_tensor({static_cast<std::int64_t>(lengths.size()), 1, 1, keys}, visible);
}

void count_lengths_from_the_end(ProblemTensors& tensors, const Dimensions& sizes) {
  if (!tensors.nonpad_kv_seqlen || tensors.attn_mask) {
    throw InputError("contract.left_padding", "--left-padding",
                     tensors.attn_mask ? "the recording has a mask, which says what is hidden"
                                       : "the recording has no lengths (nonpad_kv_seqlen)");
  }
  const auto lengths = decode_integers(*tensors.nonpad_kv_seqlen, "nonpad_kv_seqlen").data();
  tensors.attn_mask = left_padding_mask(lengths, sizes.keys);
  tensors.nonpad_kv_seqlen.reset();
}

std::vector<double> parse_slopes(std::string_view text, const std::string& where) {
  if (text == "standard") return {};
  return parse_numbers(text, where);
}

std::vector<double> parse_numbers(std::string_view text, const std::string& where) {
  return numbers_in<double>(text, where);
}

std::vector<std::int64_t> parse_lengths(std::string_view text, const std::string& where) {
  return numbers_in<std::int64_t>(text, where);
}

}  // namespace gqa
