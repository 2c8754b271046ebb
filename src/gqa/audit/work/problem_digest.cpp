#include "gqa/audit/work/problem_digest.hpp"

#include <fmt/format.h>

// Boost widens and narrows inside.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include <boost/crc.hpp>
#pragma GCC diagnostic pop
#include <utility>

namespace gqa {

std::uint64_t crc64(std::span<const std::byte> bytes) {
  boost::crc_optimal<64, 0x42f0e1eba9ea3693U, 0xffffffffffffffffU, 0xffffffffffffffffU, true, true>
      sum;
  sum.process_bytes(bytes.data(), bytes.size());
  return sum.checksum();
}

std::uint32_t crc32(std::string_view text) {
  boost::crc_32_type sum;
  sum.process_bytes(text.data(), text.size());
  return sum.checksum();
}

std::vector<IdentityField> tensor_identity(const ProblemTensors& tensors) {
  std::vector<IdentityField> fields;
  const auto add = [&fields](const char* name_of, const std::shared_ptr<const TypedTensor>& t) {
    if (!t) return;
    fields.push_back(
        {name_of, fmt::format("{} {} {:016x}", name(t->type), to_text(t->shape), crc64(t->bytes))});
  };
  add("query", tensors.query);
  add("key", tensors.key);
  add("value", tensors.value);
  add("output", tensors.output);
  add("past_key", tensors.past_key);
  add("past_value", tensors.past_value);
  add("attn_mask", tensors.attn_mask);
  add("nonpad_kv_seqlen", tensors.nonpad_kv_seqlen);
  add("sink", tensors.sink);
  add("alibi_slopes", tensors.alibi_slopes);
  add("cu_seqlens_q", tensors.cu_seqlens_q);
  add("cu_seqlens_k", tensors.cu_seqlens_k);
  add("present_key", tensors.present_key);
  add("present_value", tensors.present_value);
  add("qk_matmul_output", tensors.qk_matmul_output);
  add("lse", tensors.lse);
  add("grad_output", tensors.grad_output);
  add("grad_query", tensors.grad_query);
  add("grad_key", tensors.grad_key);
  add("grad_value", tensors.grad_value);
  fields.push_back({"qk_matmul_output_mode", fmt::format("{}", tensors.qk_matmul_output_mode)});
  return fields;
}

}  // namespace gqa
