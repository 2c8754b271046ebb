#include "gqa/theory/certificate_rules/arithmetic.hpp"
#include "gqa/theory/certificate_rules/rules.hpp"

namespace gqa::certificate_rules {
namespace {

// A positive integer.
mpz_class positive(CertificateFields& fields, const char* field) {
  const std::int64_t value = fields.integer(field);
  require(value > 0, "a count is not positive");
  return mpz_class(static_cast<long>(value));
}

mpz_class rounded_up(const mpz_class& value, const mpz_class& step) {
  return (value + step - 1) / step * step;
}

// The bytes of one head's row: whole blocks of (bytes, elements).
mpz_class row_bytes(const mpz_class& size, const std::vector<std::int64_t>& block) {
  require(block.size() == 2 && block[0] > 0 && block[1] > 0, "a block is not two positive counts");
  const mpz_class elements = static_cast<long>(block[1]);
  return rounded_up(size, elements) / elements * static_cast<long>(block[0]);
}

}  // namespace

std::string byte_ledger(CertificateFields& fields) {
  const mpz_class batch = positive(fields, "batch");
  const mpz_class positions = positive(fields, "positions");
  const mpz_class page_size = positive(fields, "page_size");
  const mpz_class heads = positive(fields, "kv_num_heads");
  const mpz_class key_row = row_bytes(positive(fields, "key_size"), fields.integers("key_block"));
  const mpz_class value_row =
      row_bytes(positive(fields, "value_size"), fields.integers("value_block"));
  const mpz_class per_layer = heads * (key_row + value_row);
  mpz_class per_position = 0, bytes = 0;
  for (CertificateFields& layers : fields.objects("layers")) {
    const mpz_class count = positive(layers, "count");
    mpz_class kept = positions;
    if (!layers.is_null("window")) {
      const mpz_class window = positive(layers, "window");
      if (window < kept) kept = window;
    }
    layers.require_all_read();
    per_position += count * per_layer;
    bytes += count * batch * rounded_up(kept, page_size) * per_layer;
  }
  require(fields.number("bytes_per_position") == per_position, "bytes_per_position is wrong");
  require(fields.number("bytes") == bytes, "bytes is wrong");
  return fmt::format("the cache takes {} bytes, {} for each position", bytes.get_str(),
                     per_position.get_str());
}

}  // namespace gqa::certificate_rules
