#include "gqa/io/llama2c_checkpoint.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <span>

#include "gqa/error.hpp"
#include "gqa/io/file.hpp"
#include "gqa/num/rational.hpp"

namespace gqa {
namespace {

constexpr std::int64_t largest_size = std::int64_t{1} << 20;
constexpr std::size_t header_bytes = 28;

std::uint32_t word(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t k = 0; k < 4; ++k) {
    value |= std::to_integer<std::uint32_t>(bytes[at + k]) << (8 * k);
  }
  return value;
}

struct Header {
  std::int64_t dim, hidden_dim, layers, heads, kv_heads, vocabulary, positions;
  bool own_classifier;
};

Header read_header(std::span<const std::byte> bytes, const std::string& where) {
  if (bytes.size() < header_bytes) {
    throw InputError("checkpoint.size", where,
                     fmt::format("{} bytes hold no header", bytes.size()));
  }
  std::array<std::int64_t, 7> fields{};
  for (std::size_t k = 0; k < fields.size(); ++k) {
    fields[k] = std::bit_cast<std::int32_t>(word(bytes, 4 * k));
  }
  const bool own_classifier = fields[5] < 0;
  fields[5] = std::abs(fields[5]);
  for (const std::int64_t field : fields) {
    if (field >= 1 && field <= largest_size) continue;
    throw InputError(
        "checkpoint.header", where,
        fmt::format("a size of {} in the header is not in 1..{}", field, largest_size));
  }
  const Header h{fields[0], fields[1], fields[2], fields[3],
                 fields[4], fields[5], fields[6], own_classifier};
  if (h.dim % h.heads != 0 || h.heads % h.kv_heads != 0) {
    throw InputError("checkpoint.header", where,
                     fmt::format("{} coordinates, {} heads and {} KV heads do not divide", h.dim,
                                 h.heads, h.kv_heads));
  }
  return h;
}

// Floats before Wo, and in all.
mpz_class floats_before_wo(const Header& h) {
  const mpz_class d = h.dim, layers = h.layers;
  const mpz_class kv = h.dim / h.heads * h.kv_heads;
  return h.vocabulary * d + layers * (d + d * d + 2 * d * kv);
}

mpz_class floats_in_all(const Header& h) {
  const mpz_class d = h.dim, layers = h.layers;
  mpz_class count = floats_before_wo(h) + layers * (d * d + d + 3 * d * h.hidden_dim) + d;
  count += mpz_class(h.positions) * (h.dim / h.heads / 2 * 2);
  if (h.own_classifier) count += h.vocabulary * d;
  return count;
}

}  // namespace

Llama2cCheckpoint read_llama2c_checkpoint(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  const std::string where = path.string();
  const Header h = read_header(bytes, where);
  const mpz_class expected = 4 * floats_in_all(h) + header_bytes;
  if (expected != bytes.size()) {
    throw InputError(
        "checkpoint.size", where,
        fmt::format("{} bytes, but the header asks for {}", bytes.size(), expected.get_str()));
  }
  Llama2cCheckpoint result{h.dim, h.heads, h.kv_heads, {}};
  // Fits: the file holds it.
  std::size_t at = header_bytes + 4 * floats_before_wo(h).get_ui();
  for (std::int64_t layer = 0; layer < h.layers; ++layer) {
    Tensor<double>& projection = result.output_projections.emplace_back(Shape{h.dim, h.dim});
    for (double& x : projection.data()) {
      x = std::bit_cast<float>(word(bytes, at));
      at += 4;
    }
  }
  return result;
}

}  // namespace gqa
