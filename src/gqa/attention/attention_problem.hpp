// One float attention problem with its declared contract, ready to be audited.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "gqa/attention/contract.hpp"
#include "gqa/attention/dimensions.hpp"
#include "gqa/attention/problem_tensors.hpp"
#include "gqa/attention/strided_tensor.hpp"
#include "gqa/attention/visibility.hpp"

namespace gqa {

/// Errors: InputError "contract.missing_tensor" at `name` if there is none.
void require_present(const std::shared_ptr<const TypedTensor>& tensor, const char* name);

/// What is added to one score after softcap: mask - slope distance.
struct BiasTerms {
  double mask = 0;            ///< the finite part of a float mask
  double slope = 0;           ///< ALiBi
  std::int64_t distance = 0;  ///< |p_i - j|; 0 without slopes

  bool is_finite() const;
  /// The sum, exactly. Precondition: is_finite().
  Rational sum() const;
  /// |mask| + |slope| distance at the thread's precision: what sums of both may reach on the way.
  Ball magnitude() const;
};

/// A head's sink among `sinks` [Hq]; nullopt if there is none, or it is minus infinity, whose exp
/// adds nothing.
std::optional<double> sink_logit(const std::optional<std::vector<double>>& sinks,
                                 std::int64_t head);

/// Operands in BHSD order, checked against each other and the contract.
///
/// Real-valued: every operand is exactly the number its bits encode. `bias` holds the
/// finite part of a float mask (its minus infinities are invisible keys, in `visibility`).
struct AttentionProblem {
  Contract contract;
  Dimensions dimensions;
  std::vector<std::int64_t> head_map;               ///< KV head per query head
  StridedTensor query;                              ///< [B, Hq, T, dk]
  History key;                                      ///< [B, Hkv, P + S, dk]
  History value;                                    ///< [B, Hkv, P + S, dv]
  std::optional<Tensor<double>> bias;               ///< broadcastable to [B, Hq, T, P + S]
  std::optional<std::vector<double>> sink;          ///< [Hq]
  std::optional<std::vector<double>> alibi_slopes;  ///< [B * Hq], broadcast already
  Visibility visibility;
  std::optional<StridedTensor> output;  ///< [B, Hq, T, dv], what is audited

  /// The scale as a ball, at the thread's precision; and correctly to about 2 units in the
  /// last place as a double. Exact only if the contract states a number.
  Ball scale_ball() const;
  double scale_double() const;
  std::optional<double> sink_of(std::int64_t head) const { return sink_logit(sink, head); }
  /// What a row of that query head must hold if it sees no key.
  EmptyRow empty_row_of(std::int64_t head) const {
    return empty_row_rule(contract.empty_row, sink_of(head).has_value());
  }
  bool has_bias() const { return bias.has_value() || alibi_slopes.has_value(); }
  /// A mask and slopes: their sum may cancel what both rounded.
  bool has_two_biases() const { return bias.has_value() && alibi_slopes.has_value(); }
  /// The bias of the score of query row `row` and key `key`. The filter reads whole rows of the
  /// same in vector loops of its own (audit/filter/filter_bias.hpp).
  BiasTerms bias_of(std::int64_t batch, std::int64_t head, std::int64_t row,
                    std::int64_t key) const;
};

/// Builds and validates a problem; its contract is the declared one, resolved by
/// resolve_dialect.
///
/// Errors: InputError at the tensor's or field's name: "contract.missing_tensor",
/// "contract.element_type", "contract.head_count" (declared heads that the tensors
/// contradict), "contract.not_a_number" (in a sink or slope), "contract.packed_not_cut"
/// (cu_seqlens are there: see cut_documents), and those of resolve_dialect,
/// validate, StridedTensor, resolve_dimensions, resolve_head_map and Visibility.
AttentionProblem make_problem(const ProblemTensors& tensors, const Contract& contract);

}  // namespace gqa
