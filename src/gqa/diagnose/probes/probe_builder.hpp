// Makes one probe, field by field.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gqa/diagnose/probes/probe.hpp"

namespace gqa {

/// Sizes of a probe, in the words of docs/contract.md.
struct ProbeSizes {
  std::int64_t batch = 1;
  std::int64_t q_heads = 4;
  std::int64_t kv_heads = 2;
  std::int64_t queries = 3;
  std::int64_t keys = 3;  ///< new ones
  std::int64_t past = 0;
  std::int64_t key_size = 4;
  std::int64_t value_size = 4;
};

/// Operands from small generic numbers unless they are set; the contract is plain until it is
/// changed through `contract()`.
class ProbeBuilder {
 public:
  /// An element's value from its place [b, h, s, d].
  using Rule =
      std::function<double(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d)>;

  ProbeBuilder(ElementType type, std::string name, std::string reads, const ProbeSizes& sizes);

  Contract& contract() { return contract_; }
  ProbeBuilder& causal(CausalAlignment alignment = CausalAlignment::bottom_right);
  ProbeBuilder& window(std::int64_t left, std::int64_t right = -1);
  ProbeBuilder& scale(const Rational& scale);
  ProbeBuilder& softcap(const Rational& softcap);
  ProbeBuilder& query(Rule rule);
  ProbeBuilder& key(Rule rule);
  ProbeBuilder& value(Rule rule);
  ProbeBuilder& lengths(std::vector<std::int64_t> lengths);
  ProbeBuilder& boolean_mask(Shape shape, std::vector<char> mask);
  ProbeBuilder& float_mask(Shape shape, std::vector<double> mask);
  ProbeBuilder& sink(std::vector<double> logits);
  ProbeBuilder& alibi_slopes(std::vector<double> slopes);
  ProbeBuilder& documents(std::vector<std::int64_t> starts);
  ProbeBuilder& layout(Layout layout);
  ProbeBuilder& key_row_stride_factor(std::int64_t factor);

  Probe build() const;

 private:
  std::shared_ptr<const TypedTensor> operand(std::int64_t heads, std::int64_t rows,
                                             std::int64_t width, std::int64_t first_row,
                                             const Rule& rule) const;

  ElementType type_;
  ProbeSizes sizes_;
  Contract contract_;
  Rule query_;
  Rule key_;
  Rule value_;
  Probe probe_;
};

// The probes of each family, in probes/.
std::vector<Probe> head_map_probes(ElementType type);
std::vector<Probe> visibility_probes(ElementType type);
std::vector<Probe> mask_probes(ElementType type);
std::vector<Probe> length_probes(ElementType type);
std::vector<Probe> score_probes(ElementType type);
std::vector<Probe> arithmetic_probes(ElementType type);
std::vector<Probe> sink_probes(ElementType type);
std::vector<Probe> layout_probes(ElementType type);

}  // namespace gqa
