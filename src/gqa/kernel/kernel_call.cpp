#include "gqa/kernel/kernel_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "gqa/attention/dialect.hpp"
#include "gqa/attention/packed.hpp"
#include "gqa/error.hpp"

namespace gqa {
namespace {

using host_protocol::TensorIndex;

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t guard_bytes = 256 * page;  // pages never touched cost nothing
constexpr std::uint64_t alignment = 64;

constexpr std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

static_assert(static_cast<int>(ElementType::binary64) == GQA_ELEMENT_BINARY64 &&
              static_cast<int>(ElementType::float8_e5m2) == GQA_ELEMENT_FLOAT8_E5M2 &&
              static_cast<int>(ElementType::int64) == GQA_ELEMENT_INT64);
static_assert(static_cast<int>(Layout::bhsd) == GQA_LAYOUT_BHSD &&
              static_cast<int>(Layout::thd) == GQA_LAYOUT_THD);
static_assert(static_cast<int>(HeadMapKind::explicit_list) == GQA_HEAD_MAP_LIST);
static_assert(static_cast<int>(CausalAlignment::onnx) == GQA_CAUSAL_ONNX);
static_assert(static_cast<int>(EmptyRow::mean) == GQA_EMPTY_ROW_MEAN);

Shape output_shape(const Dimensions& d, Layout layout) {
  switch (layout) {
    case Layout::bhsd:
      return {d.batch, d.q_heads, d.queries, d.value_size};
    case Layout::bshd:
      return {d.batch, d.queries, d.q_heads, d.value_size};
    case Layout::sbhd:
      return {d.queries, d.batch, d.q_heads, d.value_size};
    case Layout::bsh:
      return {d.batch, d.queries, d.q_heads * d.value_size};
    case Layout::hsd:
      return {d.q_heads, d.queries, d.value_size};
    case Layout::thd:
      return {d.queries, d.q_heads, d.value_size};
  }
  return {};
}

std::shared_ptr<const TypedTensor> unwritten_output(ElementType type, Shape shape) {
  auto tensor = std::make_shared<TypedTensor>();
  tensor->type = type;
  const std::size_t size = element_size(type);
  const std::uint64_t pattern = unwritten_pattern(type);
  tensor->bytes.resize(static_cast<std::size_t>(element_count(shape)) * size);
  tensor->shape = std::move(shape);
  for (std::size_t at = 0; at < tensor->bytes.size(); at += size) {
    std::memcpy(tensor->bytes.data() + at, &pattern, size);  // little-endian, as everywhere
  }
  return tensor;
}

// The functions of the C interface take caches that end where they are valid.
void require_plain(const ProblemTensors& tensors) {
  if (!tensors.past_lengths) return;
  throw InputError("kernel.unsupported_field", "past_lengths",
                   "a static cache cannot be handed to a kernel: give past_key its valid rows");
}

// Packed: one batch entry, slopes and offsets checked document by document.
Dimensions checked_dimensions(const ProblemTensors& tensors, const Contract& contract) {
  require_plain(tensors);
  if (!tensors.cu_seqlens_q && !tensors.cu_seqlens_k) {
    return make_problem(tensors, contract).dimensions;
  }
  Dimensions total;
  for (const PackedDocument& document : cut_documents(tensors, contract)) {
    total = make_problem(document.tensors, contract).dimensions;
  }
  total.queries = tensors.query->shape[0];
  total.keys = tensors.key->shape[0];
  return total;
}

void require_factor(std::int64_t factor, const char* where) {
  if (factor >= 1) return;
  throw InputError("kernel.stride_factor", where,
                   fmt::format("{} times its width is no distance between rows", factor));
}

}  // namespace

std::uint64_t unwritten_pattern(ElementType type) {
  switch (type) {
    case ElementType::binary64:
      return 0x7ff45a5a5a5a5a5a;
    case ElementType::binary32:
      return 0x7fa5a5a5;
    case ElementType::binary16:
      return 0x7d5a;
    case ElementType::bfloat16:
      return 0x7fa5;
    case ElementType::float8_e4m3fn:
      return 0xff;
    case ElementType::float8_e5m2:
      return 0x7d;
    default:
      throw InputError("contract.element_type", "output",
                       fmt::format("{} is not floating point", name(type)));
  }
}

KernelCall::KernelCall(const ProblemTensors& given, const Contract& declared,
                       ElementType output_type, const KernelCallOptions& options) {
  require_factor(options.query_row_stride_factor, "query");
  require_factor(options.key_row_stride_factor, "key");
  require_factor(options.value_row_stride_factor, "value");
  require_factor(options.output_row_stride_factor, "output");
  ProblemTensors tensors = given;
  tensors.output = nullptr;
  const Contract contract = resolve_dialect(declared);
  const Dimensions d = checked_dimensions(tensors, contract);
  set_sizes(d, contract);
  const Layout layout = contract.layout_of(Operand::query);
  if (!contract.has_one_layout() || layout > Layout::thd) {
    throw InputError("kernel.layout", "layout",
                     fmt::format("{} is not a layout that the ABI has for all tensors alike",
                                 layouts_text(contract)));
  }
  add_guard();
  add_operand(TensorIndex::output, unwritten_output(output_type, output_shape(d, layout)), layout,
              d.q_heads, options.output_row_stride_factor);
  add_operand(TensorIndex::query, tensors.query, layout, d.q_heads,
              options.query_row_stride_factor);
  add_operand(TensorIndex::key, tensors.key, layout, d.kv_heads, options.key_row_stride_factor);
  add_operand(TensorIndex::value, tensors.value, layout, d.kv_heads,
              options.value_row_stride_factor);
  add_operand(TensorIndex::past_key, tensors.past_key, Layout::bhsd, 0, 1);
  add_operand(TensorIndex::past_value, tensors.past_value, Layout::bhsd, 0, 1);
  add_plain(TensorIndex::attn_mask, tensors.attn_mask);
  add_plain(TensorIndex::nonpad_kv_seqlen, tensors.nonpad_kv_seqlen);
  add_plain(TensorIndex::sink, tensors.sink);
  add_plain(TensorIndex::alibi_slopes, tensors.alibi_slopes);
  add_plain(TensorIndex::cu_seqlens_q, tensors.cu_seqlens_q);
  add_plain(TensorIndex::cu_seqlens_k, tensors.cu_seqlens_k);
  if (contract.head_map.kind == HeadMapKind::explicit_list) {
    auto list = std::make_shared<TypedTensor>();
    list->type = ElementType::int64;
    list->shape = {static_cast<std::int64_t>(contract.head_map.list.size())};
    list->bytes.resize(contract.head_map.list.size() * sizeof(std::int64_t));
    std::memcpy(list->bytes.data(), contract.head_map.list.data(), list->bytes.size());
    add(host_protocol::head_map_region, list, 1, 1);
  }
}

void KernelCall::set_sizes(const Dimensions& d, const Contract& contract) {
  request_.operation = host_protocol::Operation::run;
  gqa_kernel_problem& p = request_.problem;
  p.struct_size = sizeof p;
  p.abi_version = GQA_KERNEL_ABI_VERSION;
  p.batch = d.batch;
  p.q_heads = d.q_heads;
  p.kv_heads = d.kv_heads;
  p.queries = d.queries;
  p.keys = d.keys - d.past;
  p.past = d.past;
  p.key_size = d.key_size;
  p.value_size = d.value_size;
  p.layout = static_cast<std::int32_t>(contract.layout_of(Operand::query));
  p.head_map_kind = static_cast<std::int32_t>(contract.head_map.kind);
  p.has_scale = contract.scale ? 1 : 0;
  if (contract.scale) p.scale = Ball(*contract.scale).midpoint_double();
  p.causal = contract.causal ? 1 : 0;
  p.causal_alignment = static_cast<std::int32_t>(contract.causal_alignment);
  p.empty_row = static_cast<std::int32_t>(contract.empty_row);
  // A kernel adds the sides to positions.
  const Window window = narrowed(contract.window, d.queries, d.keys);
  p.window_left = window.left;
  p.window_right = window.right;
  p.softcap = Ball(contract.softcap).midpoint_double();
}

void KernelCall::add_operand(std::size_t index, const std::shared_ptr<const TypedTensor>& tensor,
                             Layout layout, std::int64_t heads, std::int64_t row_stride_factor) {
  if (!tensor) return;
  const auto folded_heads = layout == Layout::bsh ? heads : 0;
  const StridedTensor view(tensor, layout, folded_heads, "tensor");
  const std::int64_t row_width = tensor->shape.back();
  gqa_kernel_tensor& t = request_.tensors[index];
  t.rank = 4;
  for (std::size_t axis = 0; axis < 4; ++axis) {
    std::array<std::int64_t, 4> unit{};
    unit[axis] = 1;
    const auto stride = static_cast<std::int64_t>(view.index(unit[0], unit[1], unit[2], unit[3]));
    const bool across_rows = axis < 3 && stride >= row_width;
    t.shape[axis] = view.shape()[axis];
    t.strides[axis] = across_rows ? stride * row_stride_factor : stride;
  }
  add(index, tensor, static_cast<std::uint64_t>(row_width), row_stride_factor);
}

void KernelCall::add_plain(std::size_t index, const std::shared_ptr<const TypedTensor>& tensor) {
  if (!tensor) return;
  gqa_kernel_tensor& t = request_.tensors[index];
  t.rank = static_cast<std::int32_t>(tensor->shape.size());
  std::int64_t stride = 1;
  for (std::size_t axis = tensor->shape.size(); axis-- > 0;) {
    t.shape[axis] = tensor->shape[axis];
    t.strides[axis] = stride;
    stride *= tensor->shape[axis];
  }
  add(index, tensor, tensor->size(), 1);
}

// The data ends as near to the guard as its alignment allows; the output has a page of slack
// there, so that small overruns are seen without ending the process.
void KernelCall::add(std::size_t index, std::shared_ptr<const TypedTensor> tensor,
                     std::uint64_t row_width, std::int64_t row_stride_factor) {
  const std::uint64_t size = element_size(tensor->type);
  KernelRegion region;
  region.name =
      index < host_protocol::tensor_count ? host_protocol::tensor_names[index] : "head_map";
  region.row_bytes = row_width * size;
  region.row_stride = region.row_bytes * static_cast<std::uint64_t>(row_stride_factor);
  region.rows = region.row_bytes == 0 ? 0 : tensor->bytes.size() / region.row_bytes;
  const std::uint64_t bytes = region.rows * region.row_stride;
  const std::uint64_t aligned = rounded_up(bytes, alignment);
  region.begin = request_.memory_bytes;
  region.data = region.begin + page + (rounded_up(aligned, page) - aligned);
  region.end = region.data + aligned + (index == TensorIndex::output ? page : 0);
  if (index < host_protocol::tensor_count) {
    gqa_kernel_tensor& t = request_.tensors[index];
    t.struct_size = sizeof t;
    t.type = static_cast<std::int32_t>(tensor->type);
    t.elements = static_cast<std::int64_t>(bytes / size);
  }
  request_.present[index] = true;
  request_.offsets[index] = region.data;
  request_.memory_bytes = region.end;
  region.tensor = std::move(tensor);
  regions_.push_back(std::move(region));
  add_guard();
}

void KernelCall::add_guard() {
  request_.guards[request_.guard_count++] = {request_.memory_bytes, guard_bytes};
  request_.memory_bytes += guard_bytes;
}

}  // namespace gqa
