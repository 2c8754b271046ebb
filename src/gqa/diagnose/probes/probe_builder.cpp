#include "gqa/diagnose/probes/probe_builder.hpp"

#include "gqa/attention/encoded_tensor.hpp"

namespace gqa {
namespace {

// A small generic number from a place: no two rows alike, no pattern that a wrong map keeps.
std::int64_t mixed(std::int64_t salt, std::int64_t b, std::int64_t h, std::int64_t s,
                   std::int64_t d) {
  std::uint64_t x = static_cast<std::uint64_t>(salt) * 0x9E3779B97F4A7C15U;
  for (const std::int64_t coordinate : {b, h, s, d}) {
    x ^= static_cast<std::uint64_t>(coordinate) + 0x9E3779B97F4A7C15U + (x << 6) + (x >> 2);
    x *= 0xBF58476D1CE4E5B9U;
    x ^= x >> 29;
  }
  return static_cast<std::int64_t>(x >> 40);
}

// Multiples of 1/2 from -3/2 to 3/2, zero left out of queries so that every key counts.
double generic_query(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
  constexpr double values[] = {-1.5, -1, -0.5, 0.5, 1, 1.5};
  return values[mixed(1, b, h, s, d) % 6];
}
double generic_key(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
  return static_cast<double>(mixed(2, b, h, s, d) % 7 - 3) / 2;
}
double generic_value(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
  return static_cast<double>(mixed(3, b, h, s, d) % 17 - 8);
}

}  // namespace

ProbeBuilder::ProbeBuilder(ElementType type, std::string name, std::string reads,
                           const ProbeSizes& sizes)
    : type_(type), sizes_(sizes), query_(generic_query), key_(generic_key), value_(generic_value) {
  probe_.name = std::move(name);
  probe_.reads = std::move(reads);
}

ProbeBuilder& ProbeBuilder::causal(CausalAlignment alignment) {
  contract_.causal = true;
  contract_.causal_alignment = alignment;
  return *this;
}
ProbeBuilder& ProbeBuilder::window(std::int64_t left, std::int64_t right) {
  contract_.window = {left, right};
  return *this;
}
ProbeBuilder& ProbeBuilder::scale(const Rational& scale) {
  contract_.scale = scale;
  return *this;
}
ProbeBuilder& ProbeBuilder::softcap(const Rational& softcap) {
  contract_.softcap = softcap;
  return *this;
}
ProbeBuilder& ProbeBuilder::query(Rule rule) {
  query_ = std::move(rule);
  return *this;
}
ProbeBuilder& ProbeBuilder::key(Rule rule) {
  key_ = std::move(rule);
  return *this;
}
ProbeBuilder& ProbeBuilder::value(Rule rule) {
  value_ = std::move(rule);
  return *this;
}
ProbeBuilder& ProbeBuilder::lengths(std::vector<std::int64_t> lengths) {
  probe_.tensors.nonpad_kv_seqlen =
      integer_tensor({static_cast<std::int64_t>(lengths.size())}, lengths);
  return *this;
}
ProbeBuilder& ProbeBuilder::boolean_mask(Shape shape, std::vector<char> mask) {
  probe_.tensors.attn_mask = boolean_tensor(std::move(shape), mask);
  return *this;
}
ProbeBuilder& ProbeBuilder::float_mask(Shape shape, std::vector<double> mask) {
  probe_.tensors.attn_mask = encoded_tensor(type_, std::move(shape), mask);
  return *this;
}
ProbeBuilder& ProbeBuilder::sink(std::vector<double> logits) {
  probe_.tensors.sink = encoded_tensor(type_, {static_cast<std::int64_t>(logits.size())}, logits);
  return *this;
}
ProbeBuilder& ProbeBuilder::alibi_slopes(std::vector<double> slopes) {
  probe_.tensors.alibi_slopes =
      encoded_tensor(ElementType::binary32, {static_cast<std::int64_t>(slopes.size())}, slopes);
  return *this;
}
ProbeBuilder& ProbeBuilder::documents(std::vector<std::int64_t> starts) {
  probe_.tensors.cu_seqlens_q = integer_tensor({static_cast<std::int64_t>(starts.size())}, starts);
  contract_.layout = Layout::thd;
  return *this;
}
ProbeBuilder& ProbeBuilder::layout(Layout layout) {
  contract_.layout = layout;
  if (layout == Layout::bsh) {
    contract_.q_num_heads = sizes_.q_heads;
    contract_.kv_num_heads = sizes_.kv_heads;
  }
  return *this;
}
ProbeBuilder& ProbeBuilder::key_row_stride_factor(std::int64_t factor) {
  probe_.key_row_stride_factor = factor;
  return *this;
}

std::shared_ptr<const TypedTensor> ProbeBuilder::operand(std::int64_t heads, std::int64_t rows,
                                                         std::int64_t width, std::int64_t first_row,
                                                         const Rule& rule) const {
  Shape shape{sizes_.batch, heads, rows, width};
  std::vector<double> values;
  const auto add_row = [&](std::int64_t b, std::int64_t h, std::int64_t s) {
    for (std::int64_t d = 0; d < width; ++d) values.push_back(rule(b, h, first_row + s, d));
  };
  // The layouts differ in which of heads and positions varies faster.
  const bool heads_first = contract_.layout == Layout::bhsd;
  for (std::int64_t b = 0; b < sizes_.batch; ++b) {
    for (std::int64_t outer = 0; outer < (heads_first ? heads : rows); ++outer) {
      for (std::int64_t inner = 0; inner < (heads_first ? rows : heads); ++inner) {
        add_row(b, heads_first ? outer : inner, heads_first ? inner : outer);
      }
    }
  }
  switch (contract_.layout) {
    case Layout::bshd:
      shape = {sizes_.batch, rows, heads, width};
      break;
    case Layout::bsh:
      shape = {sizes_.batch, rows, heads * width};
      break;
    case Layout::thd:
      shape = {rows, heads, width};
      break;
    default:
      break;
  }
  return encoded_tensor(type_, std::move(shape), values);
}

Probe ProbeBuilder::build() const {
  Probe probe = probe_;
  probe.contract = contract_;
  const ProbeSizes& s = sizes_;
  probe.tensors.query = operand(s.q_heads, s.queries, s.key_size, 0, query_);
  probe.tensors.key = operand(s.kv_heads, s.keys, s.key_size, s.past, key_);
  probe.tensors.value = operand(s.kv_heads, s.keys, s.value_size, s.past, value_);
  if (s.past > 0) {
    // Caches are BHSD; probes with a past are declared so.
    probe.tensors.past_key = operand(s.kv_heads, s.past, s.key_size, 0, key_);
    probe.tensors.past_value = operand(s.kv_heads, s.past, s.value_size, 0, value_);
  }
  return probe;
}

}  // namespace gqa
