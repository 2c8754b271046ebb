#include "gqa/attention/packed.hpp"

#include <fmt/format.h>

#include <span>
#include <tuple>
#include <utility>

#include "gqa/error.hpp"

namespace gqa {
namespace {

using TensorPointer = std::shared_ptr<const TypedTensor>;
using Offsets = std::vector<std::int64_t>;

struct PackedOffsets {
  Offsets query;
  Offsets key;
};

[[noreturn]] void bad_offsets(const char* where, const std::string& reason) {
  throw InputError("contract.packed_offsets", where, reason);
}

Offsets read_offsets(const TypedTensor& tensor, std::int64_t total, const char* where) {
  const bool integers = tensor.type == ElementType::int32 || tensor.type == ElementType::int64;
  if (!integers || tensor.shape.size() != 1 || tensor.shape[0] < 2) {
    bad_offsets(where, fmt::format("{} of shape {} does not hold [N + 1] int32 or int64",
                                   name(tensor.type), to_text(tensor.shape)));
  }
  Offsets offsets = decode_integers(tensor, where).data();
  if (offsets.front() != 0) bad_offsets(where, fmt::format("starts at {}, not 0", offsets.front()));
  for (std::size_t n = 1; n < offsets.size(); ++n) {
    if (offsets[n] >= offsets[n - 1]) continue;
    bad_offsets(where, fmt::format("entry {} falls from {} to {}", n, offsets[n - 1], offsets[n]));
  }
  if (offsets.back() != total) {
    bad_offsets(where, fmt::format("ends at {}, the tensors have {} rows", offsets.back(), total));
  }
  return offsets;
}

const TypedTensor& require_packed(const TensorPointer& tensor, const char* where) {
  if (!tensor) throw InputError("contract.missing_tensor", where, "is needed and absent");
  if (tensor->shape.size() != 3) {
    throw InputError("contract.shape_rank", where,
                     fmt::format("shape {} has {} axes; layout THD has 3", to_text(tensor->shape),
                                 tensor->shape.size()));
  }
  return *tensor;
}

void require_rows(const TensorPointer& tensor, std::int64_t rows, const char* where) {
  if (require_packed(tensor, where).shape[0] == rows) return;
  throw InputError("contract.shape_mismatch", where,
                   fmt::format("shape {} does not have {} rows", to_text(tensor->shape), rows));
}

// Rows [begin, end) of the first axis.
TensorPointer rows_of(const TensorPointer& tensor, std::int64_t begin, std::int64_t end) {
  auto result = std::make_shared<TypedTensor>();
  result->type = tensor->type;
  result->shape = tensor->shape;
  result->shape[0] = end - begin;
  const std::span<const std::byte> bytes(tensor->bytes);
  const std::size_t row =
      tensor->shape[0] == 0 ? 0 : bytes.size() / static_cast<std::size_t>(tensor->shape[0]);
  const auto part = bytes.subspan(static_cast<std::size_t>(begin) * row,
                                  static_cast<std::size_t>(end - begin) * row);
  result->bytes.assign(part.begin(), part.end());
  return result;
}

// [Hq, total] -> [1, Hq, end - begin].
TensorPointer lse_of(const TypedTensor& lse, std::int64_t begin, std::int64_t end) {
  auto result = std::make_shared<TypedTensor>();
  result->type = lse.type;
  result->shape = {1, lse.shape[0], end - begin};
  const std::size_t size = element_size(lse.type);
  const std::span<const std::byte> bytes(lse.bytes);
  for (std::int64_t head = 0; head < lse.shape[0]; ++head) {
    const auto first = static_cast<std::size_t>(head * lse.shape[1] + begin) * size;
    const auto part = bytes.subspan(first, static_cast<std::size_t>(end - begin) * size);
    result->bytes.insert(result->bytes.end(), part.begin(), part.end());
  }
  return result;
}

void refuse_unpacked(const ProblemTensors& tensors) {
  for (const auto& [tensor, where] : {std::pair{&tensors.past_key, "past_key"},
                                      {&tensors.past_value, "past_value"},
                                      {&tensors.past_lengths, "past_lengths"},
                                      {&tensors.present_key, "present_key"},
                                      {&tensors.present_value, "present_value"},
                                      {&tensors.attn_mask, "attn_mask"},
                                      {&tensors.nonpad_kv_seqlen, "nonpad_kv_seqlen"},
                                      {&tensors.qk_matmul_output, "qk_matmul_output"}}) {
    if (!*tensor) continue;
    throw InputError("contract.packed_tensor", where, "has no packed form: leave it out");
  }
}

void require_lse(const ProblemTensors& tensors, const TensorPointer& lse, const char* where) {
  if (!lse) return;
  const Shape expected{tensors.query->shape[1], tensors.query->shape[0]};
  if (lse->shape == expected) return;
  const bool turned = lse->shape == Shape{expected[1], expected[0]};
  throw InputError("contract.shape_mismatch", where,
                   fmt::format("shape {} does not fit; expected {}, heads and packed rows{}",
                               to_text(lse->shape), to_text(expected),
                               turned ? "; it fits with --lse-layout TH" : ""));
}

// A document without query rows is no case, so that nobody would look at its keys' gradients.
void refuse_keys_without_queries(const ProblemTensors& tensors, const PackedOffsets& offsets) {
  if (!tensors.grad_key && !tensors.grad_value) return;
  for (std::size_t n = 0; n + 1 < offsets.query.size(); ++n) {
    const bool queries = offsets.query[n] < offsets.query[n + 1];
    if (queries || offsets.key[n] == offsets.key[n + 1]) continue;
    throw InputError("contract.packed_tensor", tensors.grad_key ? "grad_key" : "grad_value",
                     fmt::format("document {} has keys and no query row: leave its keys out", n));
  }
}

// [N, Hq] -> [Hq] of document n; anything else is for make_problem to judge.
TensorPointer slopes_of(const TensorPointer& slopes, std::int64_t document,
                        std::int64_t documents) {
  if (!slopes || slopes->shape.size() != 2) return slopes;
  if (slopes->shape[0] != documents) {
    throw InputError("contract.shape_mismatch", "alibi_slopes",
                     fmt::format("shape {} does not have a row for each of {} documents",
                                 to_text(slopes->shape), documents));
  }
  auto row = std::make_shared<TypedTensor>(*rows_of(slopes, document, document + 1));
  row->shape = {slopes->shape[1]};
  return row;
}

// Checks all shapes, so that every cut below stays inside its tensor.
PackedOffsets checked_offsets(const ProblemTensors& tensors) {
  const std::int64_t query_rows = require_packed(tensors.query, "query").shape[0];
  const std::int64_t key_rows = require_packed(tensors.key, "key").shape[0];
  require_rows(tensors.value, key_rows, "value");
  for (const auto& [tensor, rows, where] :
       {std::tuple{&tensors.output, query_rows, "output"},
        std::tuple{&tensors.grad_output, query_rows, "grad_output"},
        std::tuple{&tensors.grad_query, query_rows, "grad_query"},
        std::tuple{&tensors.grad_key, key_rows, "grad_key"},
        std::tuple{&tensors.grad_value, key_rows, "grad_value"}}) {
    if (*tensor) require_rows(*tensor, rows, where);
  }
  require_lse(tensors, tensors.lse, "lse");
  require_lse(tensors, tensors.grad_lse, "grad_lse");
  PackedOffsets offsets;
  offsets.query = read_offsets(*tensors.cu_seqlens_q, query_rows, "cu_seqlens_q");
  offsets.key = tensors.cu_seqlens_k
                    ? read_offsets(*tensors.cu_seqlens_k, key_rows, "cu_seqlens_k")
                    : read_offsets(*tensors.cu_seqlens_q, key_rows, "cu_seqlens_q");
  if (offsets.query.size() != offsets.key.size()) {
    bad_offsets("cu_seqlens_k", fmt::format("has {} entries, cu_seqlens_q {}", offsets.key.size(),
                                            offsets.query.size()));
  }
  return offsets;
}

PackedDocument cut(const ProblemTensors& tensors, const PackedOffsets& offsets, std::size_t n) {
  const auto& [q, k] = offsets;
  const auto count = static_cast<std::int64_t>(q.size()) - 1;
  PackedDocument document{static_cast<std::int64_t>(n), {}};
  document.tensors.query = rows_of(tensors.query, q[n], q[n + 1]);
  document.tensors.key = rows_of(tensors.key, k[n], k[n + 1]);
  document.tensors.value = rows_of(tensors.value, k[n], k[n + 1]);
  for (const auto field :
       {&ProblemTensors::output, &ProblemTensors::grad_output, &ProblemTensors::grad_query}) {
    if (tensors.*field) document.tensors.*field = rows_of(tensors.*field, q[n], q[n + 1]);
  }
  for (const auto field : {&ProblemTensors::grad_key, &ProblemTensors::grad_value}) {
    if (tensors.*field) document.tensors.*field = rows_of(tensors.*field, k[n], k[n + 1]);
  }
  for (const auto field : {&ProblemTensors::lse, &ProblemTensors::grad_lse}) {
    if (tensors.*field) document.tensors.*field = lse_of(*(tensors.*field), q[n], q[n + 1]);
  }
  document.tensors.sink = tensors.sink;
  document.tensors.alibi_slopes = slopes_of(tensors.alibi_slopes, document.index, count);
  return document;
}

}  // namespace

std::vector<PackedDocument> cut_documents(const ProblemTensors& tensors, const Contract& contract) {
  if (!tensors.cu_seqlens_q) {
    if (tensors.cu_seqlens_k) bad_offsets("cu_seqlens_k", "cu_seqlens_q is absent");
    return {{0, tensors}};
  }
  if (!contract.has_one_layout() || contract.layout_of(Operand::query) != Layout::thd) {
    throw InputError("contract.packed_layout", "cu_seqlens_q",
                     fmt::format("layout {} is not packed; THD is", layouts_text(contract)));
  }
  refuse_unpacked(tensors);
  const PackedOffsets offsets = checked_offsets(tensors);
  refuse_keys_without_queries(tensors, offsets);
  std::vector<PackedDocument> documents;
  for (std::size_t n = 0; n + 1 < offsets.query.size(); ++n) {
    if (offsets.query[n] < offsets.query[n + 1]) documents.push_back(cut(tensors, offsets, n));
  }
  if (documents.empty()) {
    throw InputError("audit.nothing_to_audit", "cu_seqlens_q", "no document has a query row");
  }
  return documents;
}

}  // namespace gqa
