#include "gqa/attention/recorded_forms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gqa/attention/encoded_tensor.hpp"
#include "gqa/attention/strided_tensor.hpp"
#include "gqa/error.hpp"

namespace gqa {
namespace {

using TensorPointer = std::shared_ptr<const TypedTensor>;

[[noreturn]] void contradiction(const char* where, const std::string& message) {
  throw InputError("contract.static_cache", where, message);
}

// The last two axes change places.
TensorPointer transposed(const TensorPointer& tensor, const char* where) {
  const std::size_t axes = tensor->shape.size();
  if (axes != 2 && axes != 3) {
    throw InputError("contract.shape_rank", where,
                     fmt::format("shape {} has {} axes; expected 3, or 2 of packed documents",
                                 to_text(tensor->shape), axes));
  }
  auto result = std::make_shared<TypedTensor>(*tensor);
  std::swap(result->shape[axes - 1], result->shape[axes - 2]);
  const auto rows = static_cast<std::size_t>(tensor->shape[axes - 2]);
  const auto columns = static_cast<std::size_t>(tensor->shape[axes - 1]);
  const std::size_t size = element_size(tensor->type);
  for (std::size_t n = 0; n < tensor->size(); ++n) {
    const std::size_t matrix = n / (rows * columns) * (rows * columns);
    const std::size_t row = n % (rows * columns) / columns;
    const std::size_t column = n % columns;
    std::memcpy(result->bytes.data() + (matrix + column * rows + row) * size,
                tensor->bytes.data() + n * size, size);
  }
  return result;
}

std::vector<std::int64_t> lengths_of(const TensorPointer& tensor, const char* where,
                                     std::int64_t batch) {
  const auto lengths = decode_integers(*tensor, where);
  if (lengths.shape() != Shape{batch}) {
    throw InputError("contract.shape_mismatch", where,
                     fmt::format("shape {} does not fit; expected {}", to_text(lengths.shape()),
                                 to_text(Shape{batch})));
  }
  return lengths.data();
}

// Past rows and new ones, and where they meet.
class StaticCache {
 public:
  StaticCache(const ProblemTensors& tensors, const Contract& contract)
      : tensors_(tensors), contract_(contract) {}

  // The valid rows of the past by batch entry; nullopt: it is no static cache.
  std::optional<std::vector<std::int64_t>> past_lengths() const {
    if (!tensors_.past_key || !tensors_.past_value || !tensors_.key || !tensors_.value) {
      if (tensors_.past_lengths) contradiction("past_lengths", "past_key or past_value is absent");
      return std::nullopt;
    }
    const std::int64_t rows = fresh_rows();
    if (tensors_.past_lengths) {
      auto lengths = lengths_of(tensors_.past_lengths, "past_lengths", batch());
      if (tensors_.nonpad_kv_seqlen) require_the_same(lengths);
      require_room(lengths, "past_lengths");
      return lengths;
    }
    const TensorPointer& present = tensors_.present_key;
    if (!present || present->shape.size() != 4 || !tensors_.nonpad_kv_seqlen) return std::nullopt;
    if (present->shape[2] != capacity() || rows == 0) return std::nullopt;
    auto lengths = lengths_of(tensors_.nonpad_kv_seqlen, "nonpad_kv_seqlen", batch());
    for (std::int64_t& length : lengths) length -= rows;
    require_room(lengths, "nonpad_kv_seqlen");
    return lengths;
  }

  void write_into(PlainRecording& plain, const std::vector<std::int64_t>& lengths) const {
    if (tensors_.grad_key || tensors_.grad_value) {
      contradiction(tensors_.grad_key ? "grad_key" : "grad_value",
                    "gradients of keys in a static cache are not audited: leave them out");
    }
    plain.tensors.key = written(tensors_.past_key, tensors_.key, Operand::key, lengths);
    plain.tensors.value = written(tensors_.past_value, tensors_.value, Operand::value, lengths);
    plain.tensors.past_key.reset();
    plain.tensors.past_value.reset();
    plain.tensors.past_lengths.reset();
    for (const Operand operand : {Operand::key, Operand::value}) {
      plain.contract.own_layouts[static_cast<std::size_t>(operand)] = Layout::bhsd;
    }
    std::vector<std::int64_t> after = lengths;
    for (std::int64_t& length : after) length += fresh_rows();
    plain.tensors.nonpad_kv_seqlen = integer_tensor({batch()}, after);
  }

 private:
  StridedTensor fresh(const TensorPointer& tensor, Operand operand) const {
    return {tensor, contract_.layout_of(operand), contract_.kv_num_heads.value_or(0),
            std::string(name(operand))};
  }
  std::int64_t fresh_rows() const { return fresh(tensors_.key, Operand::key).shape()[2]; }
  std::int64_t batch() const { return past(tensors_.past_key, "past_key")[0]; }
  std::int64_t capacity() const { return past(tensors_.past_key, "past_key")[2]; }
  static const Shape& past(const TensorPointer& tensor, const char* where) {
    if (tensor->shape.size() == 4) return tensor->shape;
    throw InputError("contract.shape_rank", where,
                     fmt::format("shape {} has {} axes; expected 4", to_text(tensor->shape),
                                 tensor->shape.size()));
  }

  void require_the_same(const std::vector<std::int64_t>& lengths) const {
    const auto total = lengths_of(tensors_.nonpad_kv_seqlen, "nonpad_kv_seqlen", batch());
    for (std::size_t b = 0; b < lengths.size(); ++b) {
      if (total[b] - fresh_rows() == lengths[b]) continue;
      contradiction("nonpad_kv_seqlen",
                    fmt::format("is {} of batch entry {}, where past_lengths {} and {} new keys "
                                "make {}",
                                total[b], b, lengths[b], fresh_rows(), lengths[b] + fresh_rows()));
    }
  }

  // Subtracted: a sum could overflow.
  void require_room(const std::vector<std::int64_t>& lengths, const char* where) const {
    for (std::size_t b = 0; b < lengths.size(); ++b) {
      if (lengths[b] >= 0 && lengths[b] <= capacity() - fresh_rows()) continue;
      contradiction(where, fmt::format("batch entry {}: {} valid keys and {} new ones do not fit "
                                       "into a cache of {}",
                                       b, lengths[b], fresh_rows(), capacity()));
    }
  }

  TensorPointer written(const TensorPointer& cache, const TensorPointer& rows, Operand operand,
                        const std::vector<std::int64_t>& lengths) const {
    const StridedTensor from = fresh(rows, operand);
    const char* where = operand == Operand::key ? "past_key" : "past_value";
    const Shape& shape = past(cache, where);
    const Shape expected{from.shape()[0], from.shape()[1], capacity(), from.shape()[3]};
    if (shape != expected) {
      throw InputError(
          "contract.shape_mismatch", where,
          fmt::format("shape {} does not fit; expected {}", to_text(shape), to_text(expected)));
    }
    if (cache->type != rows->type) {
      throw InputError("contract.element_type", where,
                       fmt::format("holds {}, the rows that are written into it {}",
                                   name(cache->type), name(rows->type)));
    }
    auto result = std::make_shared<TypedTensor>(*cache);
    const std::size_t size = element_size(cache->type);
    const auto write = [&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t c) {
      const std::int64_t slot = lengths[static_cast<std::size_t>(b)] + i;
      const std::int64_t to = ((b * shape[1] + h) * shape[2] + slot) * shape[3] + c;
      std::memcpy(result->bytes.data() + static_cast<std::size_t>(to) * size,
                  rows->bytes.data() + from.index(b, h, i, c) * size, size);
    };
    for (std::int64_t b = 0; b < shape[0]; ++b) {
      for (std::int64_t h = 0; h < shape[1]; ++h) {
        for (std::int64_t i = 0; i < from.shape()[2]; ++i) {
          for (std::int64_t c = 0; c < shape[3]; ++c) write(b, h, i, c);
        }
      }
    }
    return result;
  }

  const ProblemTensors& tensors_;
  const Contract& contract_;
};

// Rows [0, rows) of the third axis.
TensorPointer first_rows(const TensorPointer& tensor, std::int64_t rows) {
  auto result = std::make_shared<TypedTensor>();
  result->type = tensor->type;
  result->shape = tensor->shape;
  result->shape[2] = rows;
  const std::size_t row = static_cast<std::size_t>(tensor->shape[3]) * element_size(tensor->type);
  const std::size_t whole = static_cast<std::size_t>(tensor->shape[2]) * row;
  const std::size_t part = static_cast<std::size_t>(rows) * row;
  for (std::size_t at = 0; at + whole <= tensor->bytes.size() && whole > 0; at += whole) {
    const auto begin = tensor->bytes.begin() + static_cast<std::ptrdiff_t>(at);
    result->bytes.insert(result->bytes.end(), begin, begin + static_cast<std::ptrdiff_t>(part));
  }
  return result;
}

// A cache with room behind what this step leaves.
void forget_room(ProblemTensors& tensors, const Contract& contract) {
  if (!tensors.nonpad_kv_seqlen || !tensors.past_key || !tensors.key) return;
  if (tensors.past_key->shape.size() != 4) return;
  const StridedTensor key(tensors.key, contract.layout_of(Operand::key),
                          contract.kv_num_heads.value_or(0), "key");
  const std::int64_t rows = tensors.past_key->shape[2] + key.shape()[2];
  for (TensorPointer* present : {&tensors.present_key, &tensors.present_value}) {
    if (!*present || (*present)->shape.size() != 4 || (*present)->shape[2] <= rows) continue;
    *present = first_rows(*present, rows);
  }
}

}  // namespace

PlainRecording plain_recording(const ProblemTensors& tensors, const Contract& contract) {
  PlainRecording plain{tensors, contract};
  if (contract.lse.layout == LseLayout::bth) {
    if (tensors.lse) plain.tensors.lse = transposed(tensors.lse, "lse");
    if (tensors.grad_lse) plain.tensors.grad_lse = transposed(tensors.grad_lse, "grad_lse");
    plain.contract.lse.layout = LseLayout::bht;
  }
  const StaticCache cache(tensors, contract);
  if (const auto lengths = cache.past_lengths()) {
    cache.write_into(plain, *lengths);
  } else {
    forget_room(plain.tensors, contract);
  }
  return plain;
}

}  // namespace gqa
