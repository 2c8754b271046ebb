#include "gqa/audit/work/problem_digest.hpp"

#include <fmt/format.h>

// Boost widens and narrows inside.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include <boost/crc.hpp>
#pragma GCC diagnostic pop
#include <string>
#include <utility>

#include "gqa/attention/problem_tensor_names.hpp"

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
  for_each_tensor([&](const NamedProblemTensor& tensor) {
    const auto& t = tensors.*tensor.field;
    if (!t) return;
    fields.push_back({std::string(tensor.name), fmt::format("{} {} {:016x}", name(t->type),
                                                            to_text(t->shape), crc64(t->bytes))});
  });
  fields.push_back({"qk_matmul_output_mode", fmt::format("{}", tensors.qk_matmul_output_mode)});
  return fields;
}

}  // namespace gqa
